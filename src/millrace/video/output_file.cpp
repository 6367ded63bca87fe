#include "millrace/video/output_file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

namespace millrace::video {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

// Keeps the SIGPIPE of this thread's writes from the process: blocked while it lives, and consumed at the end
// unless one was pending before.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;
  ~SigpipeGuard() {
    if (!was_pending_) {
      const timespec now{};
      while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

// A new file in the folder, whose name nobody else has. The target's name is cut so that this one cannot
// become too long for the file system. Returns -1 and sets errno when there can be none.
int create_temporary(const fs::path& folder, const fs::path& target, std::string& name) {
  for (int attempt = 0;; ++attempt) {
    name =
        folder / fmt::format(".{}.{}-{}.part", target.filename().string().substr(0, 200), getpid(), attempt);
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::open(std::string_view path, bool overwrite) {
  const std::string name(path);
  std::error_code error;
  // A link is followed, so that commit() replaces what it points to.
  fs::path target = fs::weakly_canonical(fs::path(name), error);
  if (error) target = name;
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) return usage_error("{}: is a directory; give the name of a file", name);
  const bool exists = fs::exists(status);
  if (exists && !fs::is_regular_file(status)) {
    const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
      return usage_error("{}: cannot be opened for writing ({}); choose another output", name, reason(errno));
    return std::make_unique<OutputFile>(Descriptor::owned(fd), name);
  }
  if (exists && !overwrite)
    return usage_error("{}: exists already; choose another name or allow overwriting", name);
  if (exists && access(target.c_str(), W_OK) != 0)
    return usage_error("{}: cannot be replaced ({}); choose another output", name, reason(errno));
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    return usage_error("{}: there is no folder {}; create it or choose another output", name,
                       folder.string());
  std::string temporary;
  const int fd = create_temporary(folder, target, temporary);
  if (fd < 0)
    return usage_error("{}: cannot be written in {} ({}); choose another output", name, folder.string(),
                       reason(errno));
  auto file = std::make_unique<OutputFile>(Descriptor::owned(fd), name);
  file->target_ = target;
  file->temporary_ = std::move(temporary);
  file->overwrite_ = overwrite;
  struct stat existing{};
  if (exists && stat(target.c_str(), &existing) == 0 && fchmod(fd, existing.st_mode & 07777) != 0)
    return failure("{}: its permissions cannot be kept ({}); choose another output", name, reason(errno));
  return file;
}

std::unique_ptr<OutputFile> OutputFile::standard_output() {
  return std::make_unique<OutputFile>(Descriptor::borrowed(STDOUT_FILENO), "standard output");
}

OutputFile::OutputFile(Descriptor descriptor, std::string name)
    : descriptor_(std::move(descriptor)), name_(std::move(name)) {
  struct stat info{};
  seekable_ = fstat(descriptor_.get(), &info) == 0 && S_ISREG(info.st_mode);
  if (seekable_)
    position_ = static_cast<std::uint64_t>(std::max<off_t>(0, lseek(descriptor_.get(), 0, SEEK_CUR)));
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  const SigpipeGuard guard;
  while (!bytes.empty()) {
    std::size_t chunk = bytes.size();
    if (!seekable_) {
      if (!signal_.wait(descriptor_.get(), Direction::out))
        return std::unexpected(Error{ErrorKind::interrupted, name_ + ": writing was cancelled"});
      // What a pipe that poll(2) calls writable takes without waiting, so that only wait() ever waits.
      chunk = std::min<std::size_t>(chunk, PIPE_BUF);
    }
    const ssize_t count = ::write(descriptor_.get(), bytes.data(), chunk);
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      if (errno == EPIPE)
        return failure("{}: the program that reads it has ended; nothing more can be written", name_);
      if (errno == ENOSPC || errno == EDQUOT)
        return failure("{}: no space left after {} bytes; free some or choose another place", name_,
                       position_);
      return failure("{}: writing failed after {} bytes ({})", name_, position_, reason(errno));
    }
    position_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status OutputFile::seek(std::uint64_t position) {
  if (!seekable_ || lseek(descriptor_.get(), static_cast<off_t>(position), SEEK_SET) < 0)
    return failure("{}: cannot be repositioned", name_);
  position_ = position;
  return {};
}

Status OutputFile::truncate(std::uint64_t size) {
  if (!seekable_ || ftruncate(descriptor_.get(), static_cast<off_t>(size)) < 0)
    return failure("{}: cannot be cut to {} bytes", name_, size);
  return seek(size);
}

Status OutputFile::commit() {
  if (temporary_.empty()) return {};
  if (const int lost = descriptor_.close(); lost != 0)
    return failure("{}: what was written could not be stored ({})", name_, reason(lost));
  if (overwrite_) {
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
      return failure("{}: the finished file cannot be moved there ({})", name_, reason(errno));
  } else {
    if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0)
      return failure("{}: the finished file cannot be moved there ({})", name_, reason(errno));
  }
  temporary_.clear();
  return {};
}

}  // namespace millrace::video
