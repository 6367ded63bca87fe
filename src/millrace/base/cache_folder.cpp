#include "millrace/base/cache_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

namespace millrace {
namespace {

// An absolute path out of the environment; empty where there is none. XDG says that relative ones do not
// count.
std::filesystem::path absolute_from_environment(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): the header says so
  return value != nullptr && value[0] == '/' ? std::filesystem::path(value) : std::filesystem::path();
}

}  // namespace

Result<std::filesystem::path> cache_folder() {
  if (const auto cache = absolute_from_environment("XDG_CACHE_HOME"); !cache.empty())
    return cache / "millrace";
  if (const auto home = absolute_from_environment("HOME"); !home.empty()) return home / ".cache" / "millrace";
  return failure("there is no place for caches: set XDG_CACHE_HOME or HOME to an absolute path");
}

bool make_private_folder(const std::filesystem::path& folder) {
  struct stat status{};
  std::filesystem::path there = folder;
  while (stat(there.c_str(), &status) != 0) {
    if (!there.has_relative_path()) return false;
    there = there.parent_path();
  }
  if (there == folder) return S_ISDIR(status.st_mode);
  if (geteuid() == 0 && status.st_uid != 0) return false;
  std::error_code error;
  std::filesystem::create_directories(folder.parent_path(), error);
  return mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST;
}

}  // namespace millrace
