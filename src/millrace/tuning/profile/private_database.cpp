#include "millrace/tuning/profile/private_database.h"

#include "millrace/base/cache_folder.h"
#include "millrace/base/descriptor.h"

#include <fcntl.h>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::tuning {
namespace {

constexpr mode_t of_others = S_IRWXG | S_IRWXO;

std::string foreign(const std::filesystem::path& path, uid_t owner) {
  return fmt::format("'{}' belongs to user {}, not to user {}", path.string(), owner, geteuid());
}

}  // namespace

std::string keep_private(const std::filesystem::path& database) {
  const std::filesystem::path path = database.parent_path();
  if (!make_private_folder(path))
    return fmt::format("there is no folder '{}', and none is made in another user's", path.string());
  const auto folder = Descriptor::owned(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status{};
  if (!folder.is_open() || fstat(folder.get(), &status) != 0) return "";
  if (status.st_uid != geteuid()) return foreign(path, status.st_uid);
  if ((status.st_mode & of_others) != 0) fchmod(folder.get(), S_IRWXU);
  // By name within that folder, which nobody else can change any more; opened only where it is new, as
  // closing it would give up the locks of this process's other connections.
  const std::string name = database.filename().string();
  std::ignore = Descriptor::owned(
      openat(folder.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::string file = name + suffix;
    if (fstatat(folder.get(), file.c_str(), &status, 0) != 0) continue;
    if (status.st_uid != geteuid()) return foreign(path / file, status.st_uid);
    if ((status.st_mode & of_others) != 0)
      fchmodat(folder.get(), file.c_str(), status.st_mode & ~of_others & ~S_IFMT, 0);
  }
  return "";
}

}  // namespace millrace::tuning
