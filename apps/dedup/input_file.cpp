#include "dedup/input_file.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

namespace millrace::dedup {
namespace {

constexpr int pipe_bytes = 1 << 20;

}  // namespace

Result<std::unique_ptr<InputFile>> InputFile::open(const std::string& path, const std::stop_token& stop) {
  if (path == "-")
    return std::make_unique<InputFile>(Descriptor::borrowed(STDIN_FILENO), "standard input", stop);
  struct stat info{};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return usage_error("{}: is a directory; pipe it in: tar cf - '{}' | millrace-dedup pack - OUT", path,
                       path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return usage_error("{}: no such file; give a file, or - for standard input", path);
    return usage_error("{}: cannot be opened for reading ({}); check its permissions", path, reason(errno));
  }
  return std::make_unique<InputFile>(Descriptor::owned(fd), path, stop);
}

InputFile::InputFile(Descriptor descriptor, std::string name, const std::stop_token& stop)
    : descriptor_(std::move(descriptor)), name_(std::move(name)), wait_(stop) {
  struct stat info{};
  if (fstat(descriptor_.get(), &info) == 0 && S_ISREG(info.st_mode)) {
    // A redirected standard input need not stand at its beginning.
    const off_t start = lseek(descriptor_.get(), 0, SEEK_CUR);
    start_ = start > 0 ? static_cast<std::uint64_t>(start) : 0;
    const auto whole = static_cast<std::uint64_t>(info.st_size);
    size_ = whole > start_ ? whole - start_ : 0;
  } else {
    // Lets the writer run ahead; where that is not permitted the pipe stays as it is.
    static_cast<void>(fcntl(descriptor_.get(), F_SETPIPE_SZ, pipe_bytes));
  }
}

Result<std::size_t> InputFile::read(std::span<std::byte> destination) {
  for (;;) {
    // A regular file never makes a reader wait.
    if (!is_regular() && !wait_.until_readable(descriptor_.get()))
      return std::unexpected(Error{ErrorKind::interrupted, name_ + ": reading was stopped"});
    const ssize_t count = ::read(descriptor_.get(), destination.data(), destination.size());
    if (count >= 0) {
      position_ += static_cast<std::uint64_t>(count);
      return static_cast<std::size_t>(count);
    }
    if (errno == EISDIR)
      return usage_error("{}: is a directory; pipe it in: tar cf - DIR | millrace-dedup pack - OUT", name_);
    if (errno != EINTR && errno != EAGAIN)
      return failure("{}: reading failed after {} bytes ({})", name_, position_, reason(errno));
  }
}

Status InputFile::read_at(std::uint64_t offset, std::span<std::byte> destination) {
  return read_fully(descriptor_.get(), start_ + offset, destination, name_);
}

bool InputFile::is_same_file(const std::string& path) const {
  struct stat mine{};
  struct stat other{};
  return is_regular() && fstat(descriptor_.get(), &mine) == 0 && stat(path.c_str(), &other) == 0 &&
         mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

Status read_fully(int fd, std::uint64_t offset, std::span<std::byte> destination, const std::string& name) {
  while (!destination.empty()) {
    const ssize_t count = pread(fd, destination.data(), destination.size(), static_cast<off_t>(offset));
    if (count < 0) {
      if (errno == EINTR) continue;
      return failure("{}: reading at byte {} failed ({})", name, offset, reason(errno));
    }
    if (count == 0) return failure("{}: ends at byte {} although more is expected", name, offset);
    offset += static_cast<std::uint64_t>(count);
    destination = destination.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace millrace::dedup
