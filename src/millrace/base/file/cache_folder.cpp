#include "millrace/base/file/cache_folder.h"

#include "millrace/base/text/printable.h"

#include <cstdlib>
#include <system_error>

namespace millrace {
namespace {

// Returns an absolute path from the environment, or an empty path. The XDG specification ignores relative
// paths.
std::filesystem::path absolute_from_environment(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): documented in the header
  return value != nullptr && value[0] == '/' ? std::filesystem::path(value) : std::filesystem::path();
}

}  // namespace

Result<std::filesystem::path> cache_folder() {
  if (const auto cache = absolute_from_environment("XDG_CACHE_HOME"); !cache.empty())
    return cache / "millrace";
  const auto home = absolute_from_environment("HOME");
  std::error_code error;
  // Users of services have a HOME that is missing on purpose, so nothing may create it.
  if (!home.empty() && std::filesystem::status(home, error).type() == std::filesystem::file_type::not_found)
    return failure("no folder for caches: HOME is '{}', which does not exist; set XDG_CACHE_HOME",
                   printable(home.string()));
  if (!home.empty()) return home / ".cache" / "millrace";
  return failure("no folder for caches is known; set XDG_CACHE_HOME or HOME to an absolute path");
}

std::filesystem::path config_folder() {
  if (const auto config = absolute_from_environment("XDG_CONFIG_HOME"); !config.empty())
    return config / "millrace";
  if (const auto home = absolute_from_environment("HOME"); !home.empty())
    return home / ".config" / "millrace";
  return {};
}

}  // namespace millrace
