#include "millrace/placement/apply/state_folder.h"

#include "millrace/base/system_reason.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

constexpr const char* temporary = "/tmp";

// Whether nobody but this user may put something into a folder, or take it away.
bool is_ours_alone(const char* path) {
  struct stat status{};
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::filesystem::path usual_path() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  // `su` and `sudo -E` keep another user's.
  if (runtime != nullptr && runtime[0] == '/' && is_ours_alone(runtime) && access(runtime, W_OK) == 0)
    return std::filesystem::path(runtime) / "millrace";
  if (geteuid() == 0 && is_ours_alone("/run") && access("/run", W_OK) == 0) return "/run/millrace";
  return std::filesystem::path(temporary) / fmt::format("millrace-{}", geteuid());
}

}  // namespace

Result<StateFolder> StateFolder::open(const std::filesystem::path& path) {
  Descriptor folder;
  int reason = ENOENT;
  // Gone again: another run has ended in between, and found it empty.
  constexpr int attempts = 100;
  for (int attempt = 0; attempt < attempts && !folder.is_open() && reason == ENOENT; ++attempt) {
    if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
      return failure("cannot make the folder {}: {}", path.string(), system_reason(errno));
    folder =
        Descriptor::owned(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    reason = errno;
  }
  if (!folder.is_open() && (reason == ENOTDIR || reason == ELOOP))
    return failure("{} is no folder: remove it, or set XDG_RUNTIME_DIR", path.string());
  struct stat status{};
  const bool known = folder.is_open() ? fstat(folder.get(), &status) == 0 : lstat(path.c_str(), &status) == 0;
  if (known && status.st_uid != geteuid())
    return failure("{} belongs to user {}, not to user {}: it is not used; remove it, or set XDG_RUNTIME_DIR",
                   path.string(), status.st_uid, geteuid());
  if (!folder.is_open()) return failure("cannot open {}: {}", path.string(), system_reason(reason));
  if (!known || ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 && fchmod(folder.get(), S_IRWXU) != 0))
    return failure("{} may be written by others: it is not used; remove it, or set XDG_RUNTIME_DIR",
                   path.string());
  return StateFolder(std::move(folder), path);
}

Result<StateFolder> StateFolder::of_this_user() {
  const std::filesystem::path usual = usual_path();
  auto folder = open(usual);
  if (folder || usual.parent_path() != temporary) return folder;
  // Whoever took the name must not be able to keep this user from running anything.
  std::string name = usual.string() + "-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return folder;
  auto own = open(name);
  if (own) own->refused_ = folder.error().message;
  return own;
}

StateFolder::~StateFolder() {
  // Refused where others use it.
  if (folder_.is_open()) rmdir(path_.c_str());
}

}  // namespace millrace::placement
