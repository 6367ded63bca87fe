#include "millrace/base/file/pending_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view incomplete_suffix = ".part";
constexpr mode_t new_file_mode = 0666;  // minus the umask

// Uses /proc because linkat() with a bare descriptor needs a privilege.
std::string path_of(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

bool is_the_file_named(int descriptor, const fs::path& name) {
  struct stat here{};
  struct stat there{};
  return fstat(descriptor, &here) == 0 && lstat(name.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

// The creator of a file locks it, and the lock ends with the process, even in a crash. A temporary file that
// can be locked is therefore abandoned. Returns false if another process has locked ours because it took it
// for abandoned.
bool lock_as_maker(int descriptor) {
  // Without lock support, no file is ever considered abandoned.
  return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// Returns whether an abandoned file was removed.
bool remove_abandoned(const fs::path& name) {
  const auto file = Descriptor::owned(::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  return file.is_open() && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == geteuid() && flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
         is_the_file_named(file.get(), name) && unlink(name.c_str()) == 0;
}

// Returns 0 or the error number.
int link_to(int descriptor, const fs::path& name) {
  const int linked = linkat(AT_FDCWD, path_of(descriptor).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  return linked == 0 ? 0 : errno;
}

// close() reports the deferred write errors of some file systems. Closing a duplicate keeps the file open.
int put_off_error(int descriptor) { return Descriptor::owned(dup(descriptor)).close(); }

}  // namespace

std::expected<PendingFile, int> PendingFile::create(const fs::path& target, Pending how) {
  PendingFile file(target);
  if (how == Pending::unnamed) {
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    file.descriptor_ =
        Descriptor::owned(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, new_file_mode));
    // Without /proc the file could never get a name.
    if (file.descriptor_.is_open() && lock_as_maker(file.get()) &&
        access(path_of(file.get()).c_str(), F_OK) == 0)
      return file;
  }
  const int error = file.take_temporary_name([&file](const fs::path& name) {
    file.descriptor_ =
        Descriptor::owned(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, new_file_mode));
    if (!file.descriptor_.is_open()) return errno;
    // Another process may have checked the file before it was locked.
    return lock_as_maker(file.get()) && is_the_file_named(file.get(), name) ? 0 : EEXIST;
  });
  if (error != 0) return std::unexpected(error);
  return file;
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : descriptor_(std::move(other.descriptor_)), target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})) {}

bool PendingFile::is_name_of_incomplete(std::string_view name) {
  return name.starts_with('.') && name.ends_with(incomplete_suffix);
}

PendingFile::~PendingFile() { drop_temporary_name(); }

template <class Take> int PendingFile::take_temporary_name(const Take& take) {
  for (int attempt = 0;; ++attempt) {
    // Truncated so that the temporary name fits if the target's does.
    fs::path name =
        target_.parent_path() /
        fmt::format(".{}.{}{}", target_.filename().string().substr(0, 200), attempt, incomplete_suffix);
    int error = take(name);
    if (error == EEXIST && remove_abandoned(name)) error = take(name);
    if (error == 0) temporary_ = std::move(name);
    if (error != EEXIST) return error;
  }
}

void PendingFile::drop_temporary_name() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

int PendingFile::publish(bool replace) {
  if (const int error = put_off_error(get()); error != 0) return error;
  if (const int error = take_free_name(target_); error != EEXIST || !replace) return error;
  // linkat() cannot replace a file. rename() can, but needs an existing name.
  if (temporary_.empty()) {
    const int error = take_temporary_name([this](const fs::path& name) { return link_to(get(), name); });
    if (error != 0) return error;
  }
  return rename_to(target_);
}

std::optional<fs::path> PendingFile::publish_beside() {
  constexpr int most_names = 1000;
  for (int number = 1; number < most_names; ++number) {
    fs::path name = target_;
    name.replace_filename(
        fmt::format("{}-{}{}", target_.stem().string(), number, target_.extension().string()));
    const int error = take_free_name(name);
    if (error == 0) return name;
    if (error != EEXIST) return std::nullopt;
  }
  return std::nullopt;
}

int PendingFile::take_free_name(const fs::path& name) {
  if (temporary_.empty()) return link_to(get(), name);
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) {
    temporary_.clear();
    return 0;
  }
  // File systems without RENAME_NOREPLACE, for example in user space, may support link(). The last resort is
  // to create an empty file exclusively and replace it.
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (link(temporary_.c_str(), name.c_str()) == 0) {
    drop_temporary_name();
    return 0;
  }
  if (errno == EEXIST) return errno;
  const auto reserved =
      Descriptor::owned(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, new_file_mode));
  return reserved.is_open() ? rename_to(name) : errno;
}

int PendingFile::rename_to(const fs::path& name) {
  if (std::rename(temporary_.c_str(), name.c_str()) != 0) return errno;
  temporary_.clear();
  return 0;
}

Descriptor PendingFile::without_name() && {
  drop_temporary_name();
  return std::move(descriptor_);
}

}  // namespace millrace
