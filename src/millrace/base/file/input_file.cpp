#include "millrace/base/file/input_file.h"

#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

namespace millrace {
namespace {

constexpr int pipe_bytes = 1 << 20;

}  // namespace

Result<std::unique_ptr<InputFile>> InputFile::open(std::string_view path, const InputAdvice& advice,
                                                   const std::stop_token& stop) {
  if (path == "-") return standard_input(stop);
  std::string name(path);
  // open() must not block on a named pipe without a writer. read() waits instead, because it can be stopped.
  auto descriptor = Descriptor::owned(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return usage_error("{}: no such file; {}", name, advice.missing);
    return usage_error("{}: cannot be opened for reading ({}); check its permissions", name,
                       system_reason(errno));
  }
  struct stat status{};
  if (fstat(descriptor.get(), &status) == 0 && S_ISDIR(status.st_mode))
    return usage_error("{}: is a directory; {}", name, advice.directory);
  return std::make_unique<InputFile>(std::move(descriptor), std::move(name), stop);
}

std::unique_ptr<InputFile> InputFile::standard_input(const std::stop_token& stop) {
  return std::make_unique<InputFile>(Descriptor::borrowed(STDIN_FILENO), "standard input", stop);
}

InputFile::InputFile(Descriptor descriptor, std::string name, const std::stop_token& stop)
    : descriptor_(std::move(descriptor)), name_(std::move(name)), wait_(stop) {
  struct stat status{};
  if (fstat(descriptor_.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    may_wait_ = status.st_size == 0;
    // A redirected standard input may not be at the start of the file.
    const off_t start = lseek(descriptor_.get(), 0, SEEK_CUR);
    start_ = start > 0 ? static_cast<std::uint64_t>(start) : 0;
    position_ = start_;
  } else {
    // Lets the writer run ahead. If the system refuses, the pipe keeps its size.
    static_cast<void>(fcntl(descriptor_.get(), F_SETPIPE_SZ, pipe_bytes));
  }
}

Result<std::size_t> InputFile::read(std::span<std::byte> destination) {
  for (;;) {
    if (may_wait_ && !wait_.until_readable(descriptor_.get()))
      return std::unexpected(Error{ErrorKind::interrupted, name_ + ": reading was stopped"});
    const ssize_t count = ::read(descriptor_.get(), destination.data(), destination.size());
    if (count >= 0) {
      if (count == 0 && !destination.empty() && has_shrunk())
        return failure("{}: became shorter while it was read", name_);
      position_ += static_cast<std::uint64_t>(count);
      return static_cast<std::size_t>(count);
    }
    if (errno == EISDIR) return usage_error("{}: is a directory; give a file or pipe", name_);
    if (errno != EINTR && errno != EAGAIN)
      return failure("{}: reading failed after {} bytes ({})", name_, position_, system_reason(errno));
  }
}

bool InputFile::has_shrunk() const {
  struct stat now{};
  return size_ && position_ < *size_ && fstat(descriptor_.get(), &now) == 0 &&
         static_cast<std::uint64_t>(now.st_size) < *size_;
}

std::optional<std::uint64_t> InputFile::remaining() const {
  if (!size_) return std::nullopt;
  return *size_ > position_ ? *size_ - position_ : 0;
}

Status InputFile::seek(std::uint64_t position) {
  if (!is_regular() || lseek(descriptor_.get(), static_cast<off_t>(position), SEEK_SET) < 0)
    return failure("{}: cannot be repositioned", name_);
  position_ = position;
  return {};
}

Status InputFile::read_at(std::uint64_t offset, std::span<std::byte> destination) {
  const Transfer done = read_all_at(descriptor_.get(), start_ + offset, destination);
  if (done.bytes == destination.size()) return {};
  const std::uint64_t place = offset + done.bytes;
  if (done.error != 0)
    return failure("{}: reading at byte {} failed ({})", name_, place, system_reason(done.error));
  return failure("{}: ends at byte {} although more is expected", name_, place);
}

bool InputFile::is_same_file(const std::string& path) const {
  struct stat mine{};
  struct stat other{};
  return is_regular() && fstat(descriptor_.get(), &mine) == 0 && stat(path.c_str(), &other) == 0 &&
         mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

}  // namespace millrace
