#include "millrace/tuning/profile/private_database.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/file/private_folder.h"

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

// Returns "" or why the file, in an open folder, must not be used. The target of a link is used but never
// changed, because it may belong to any user.
std::string keep_file_private(int folder, const std::string& name, const std::filesystem::path& path) {
  struct stat status{};
  if (fstatat(folder, name.c_str(), &status, 0) != 0) return "";
  if (status.st_uid != geteuid()) return foreign(path / name, status.st_uid);
  // Opening a pipe may block forever, and a device cannot hold a store.
  if (!S_ISREG(status.st_mode)) return fmt::format("'{}' is not a regular file", (path / name).string());
  struct stat named{};
  const bool link =
      fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(named.st_mode);
  if (!link && (status.st_mode & of_others) != 0)
    fchmodat(folder, name.c_str(), status.st_mode & ~of_others & ~S_IFMT, 0);
  return "";
}

}  // namespace

std::string keep_private(const std::filesystem::path& database) {
  const std::filesystem::path path = database.parent_path();
  const auto folder = open_private_folder(path, FolderUse::make);
  if (!folder) return fmt::format("{}; set XDG_CACHE_HOME to a folder of yours", folder.error().message);
  // By name within that folder, which other users can no longer change. Open the file only to create it:
  // closing it would release the locks of this process's other connections.
  const std::string name = database.filename().string();
  std::ignore = Descriptor::owned(
      openat(folder->get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  for (const char* suffix : {"", "-wal", "-shm", "-journal"})
    if (std::string reason = keep_file_private(folder->get(), name + suffix, path); !reason.empty())
      return reason;
  return "";
}

}  // namespace millrace::tuning
