#include "millrace/video/input_file.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

namespace millrace::video {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

Result<std::unique_ptr<InputFile>> InputFile::open(std::string_view path) {
  const std::string name(path);
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return usage_error("{}: no such file; give a video file, '-' for y4m on standard input, "
                         "or test:WIDTHxHEIGHT",
                         name);
    return usage_error("{}: cannot be opened for reading ({}); check its permissions", name, reason(errno));
  }
  Descriptor descriptor = Descriptor::owned(fd);
  struct stat info{};
  if (fstat(fd, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return usage_error("{}: is a directory; give a video file inside it", name);
    if (S_ISREG(info.st_mode) && info.st_size == 0)
      return failure("{}: is empty; give a file that contains video", name);
  }
  return std::make_unique<InputFile>(std::move(descriptor), name);
}

std::unique_ptr<InputFile> InputFile::standard_input() {
  return std::make_unique<InputFile>(Descriptor::borrowed(STDIN_FILENO), "standard input");
}

InputFile::InputFile(Descriptor descriptor, std::string name)
    : descriptor_(std::move(descriptor)), name_(std::move(name)) {
  struct stat info{};
  if (fstat(descriptor_.get(), &info) == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    // A redirected standard input need not stand at its beginning.
    const off_t start = lseek(descriptor_.get(), 0, SEEK_CUR);
    position_ = start > 0 ? static_cast<std::uint64_t>(start) : 0;
  }
}

Result<std::size_t> InputFile::read(std::span<std::byte> destination) {
  for (;;) {
    // A regular file never makes a reader wait.
    if (!seekable() && !signal_.wait(descriptor_.get(), Direction::in))
      return std::unexpected(Error{ErrorKind::interrupted, name_ + ": reading was cancelled"});
    const ssize_t count = ::read(descriptor_.get(), destination.data(), destination.size());
    if (count >= 0) {
      position_ += static_cast<std::uint64_t>(count);
      return static_cast<std::size_t>(count);
    }
    if (errno != EINTR && errno != EAGAIN)
      return failure("{}: reading failed after {} bytes ({})", name_, position_, reason(errno));
  }
}

std::optional<std::uint64_t> InputFile::remaining() const {
  if (!size_) return std::nullopt;
  return *size_ > position_ ? *size_ - position_ : 0;
}

Status InputFile::seek(std::uint64_t position) {
  if (!seekable() || lseek(descriptor_.get(), static_cast<off_t>(position), SEEK_SET) < 0)
    return failure("{}: cannot be repositioned", name_);
  position_ = position;
  return {};
}

}  // namespace millrace::video
