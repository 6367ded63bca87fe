#include "millrace/base/pending_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr mode_t new_file_mode = 0666;  // less what the umask takes

// By way of /proc: linkat() with the bare descriptor takes a privilege.
std::string path_of(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

// 0 or the error number.
int link_to(int descriptor, const fs::path& name) {
  const int linked = linkat(AT_FDCWD, path_of(descriptor).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  return linked == 0 ? 0 : errno;
}

// Closing tells of writes that some file systems put off; closing a copy leaves the file open.
int put_off_error(int descriptor) { return Descriptor::owned(dup(descriptor)).close(); }

}  // namespace

std::expected<PendingFile, int> PendingFile::create(const fs::path& target, Pending how) {
  PendingFile file(target);
  if (how == Pending::unnamed) {
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    file.descriptor_ =
        Descriptor::owned(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, new_file_mode));
    // Without /proc it could never have a name.
    if (file.descriptor_.is_open() && access(path_of(file.get()).c_str(), F_OK) == 0) return file;
  }
  const int error = file.take_temporary_name([&file](const fs::path& name) {
    file.descriptor_ =
        Descriptor::owned(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, new_file_mode));
    return file.descriptor_.is_open() ? 0 : errno;
  });
  if (error != 0) return std::unexpected(error);
  return file;
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : descriptor_(std::move(other.descriptor_)), target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})) {}

PendingFile::~PendingFile() { drop_temporary_name(); }

template <class Take> int PendingFile::take_temporary_name(const Take& take) {
  for (int attempt = 0;; ++attempt) {
    // Cut, so that it is not too long for the file system where the target's is not.
    fs::path name =
        target_.parent_path() /
        fmt::format(".{}.{}-{}.part", target_.filename().string().substr(0, 200), getpid(), attempt);
    const int error = take(name);
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
  if (temporary_.empty()) {
    if (const int error = link_to(get(), target_); error != EEXIST || !replace) return error;
    // A link cannot replace, a rename needs a name to begin with.
    const int error = take_temporary_name([this](const fs::path& name) { return link_to(get(), name); });
    if (error != 0) return error;
  }
  if (replace) {
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return errno;
    temporary_.clear();
    return 0;
  }
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0) {
    temporary_.clear();
    return 0;
  }
  // A file system that cannot rename without replacing can link without.
  if (errno != EINVAL) return errno;
  if (link(temporary_.c_str(), target_.c_str()) != 0) return errno;
  drop_temporary_name();
  return 0;
}

Descriptor PendingFile::without_name() && {
  drop_temporary_name();
  return std::move(descriptor_);
}

}  // namespace millrace
