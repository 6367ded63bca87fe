#include "dedup/output_file.h"

#include "dedup/input_file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <sys/stat.h>

namespace millrace::dedup {
namespace {

namespace fs = std::filesystem;

// A new file in the folder, whose name nobody else has. The target's name is cut so that this one cannot
// become too long for the file system. Returns -1 and sets errno when there can be none.
int create_part(const fs::path& folder, const fs::path& target, std::string& name) {
  for (int attempt = 0;; ++attempt) {
    name =
        folder / fmt::format(".{}.{}-{}.part", target.filename().string().substr(0, 200), getpid(), attempt);
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::open(const std::string& path, bool overwrite,
                                                     const std::stop_token& stop) {
  if (path == "-")
    return std::make_unique<OutputFile>(Descriptor::borrowed(STDOUT_FILENO), "standard output", stop);
  std::error_code error;
  // A link is followed, so that commit() replaces what it points to.
  fs::path target = fs::weakly_canonical(fs::path(path), error);
  if (error) target = path;
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) return usage_error("{}: is a directory; give the name of a file", path);
  const bool exists = fs::exists(status);
  if (exists && !fs::is_regular_file(status)) {
    const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
      return usage_error("{}: cannot be opened for writing ({}); choose another output", path, reason(errno));
    return std::make_unique<OutputFile>(Descriptor::owned(fd), path, stop);
  }
  if (exists && !overwrite)
    return usage_error("{}: exists already; choose another name, or give --force to replace it", path);
  if (exists && access(target.c_str(), W_OK) != 0)
    return usage_error("{}: cannot be replaced ({}); choose another output", path, reason(errno));
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    return usage_error("{}: there is no folder {}; create it or choose another output", path,
                       folder.string());
  std::string part;
  const int fd = create_part(folder, target, part);
  if (fd < 0)
    return usage_error("{}: cannot be written in {} ({}); choose another output", path, folder.string(),
                       reason(errno));
  auto file = std::make_unique<OutputFile>(Descriptor::owned(fd), path, stop);
  file->target_ = target;
  file->temporary_ = std::move(part);
  file->overwrite_ = overwrite;
  struct stat existing{};
  if (exists && stat(target.c_str(), &existing) == 0 && fchmod(fd, existing.st_mode & 07777) != 0)
    return failure("{}: its permissions cannot be kept ({}); choose another output", path, reason(errno));
  return file;
}

Result<std::unique_ptr<OutputFile>> OutputFile::temporary(const std::stop_token& stop) {
  const char* const wanted = std::getenv("TMPDIR");
  const std::string folder = wanted && *wanted != '\0' ? wanted : "/tmp";
  std::string part;
  const int fd = create_part(folder, "millrace-dedup", part);
  if (fd < 0)
    return failure("no temporary file can be made in {} ({}); set TMPDIR to another folder", folder,
                   reason(errno));
  unlink(part.c_str());
  return std::make_unique<OutputFile>(Descriptor::owned(fd), "the temporary file in " + folder, stop);
}

OutputFile::OutputFile(Descriptor descriptor, std::string name, const std::stop_token& stop)
    : descriptor_(std::move(descriptor)), name_(std::move(name)), regular_(descriptor_.is_regular_file()),
      wait_(stop) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    std::size_t part = bytes.size();
    if (!regular_) {
      if (!wait_.until_writable(descriptor_.get()))
        return std::unexpected(Error{ErrorKind::interrupted, name_ + ": writing was stopped"});
      // What a pipe that poll(2) calls writable takes without waiting, so that only the line above ever
      // waits.
      part = std::min<std::size_t>(part, PIPE_BUF);
    }
    const ssize_t count = ::write(descriptor_.get(), bytes.data(), part);
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return write_failed(errno);
    }
    position_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0) {
      if (errno == EINTR) continue;
      return write_failed(errno);
    }
    offset += static_cast<std::uint64_t>(count);
    position_ = std::max(position_, offset);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status OutputFile::read_at(std::uint64_t offset, std::span<std::byte> destination) {
  return read_fully(descriptor_.get(), offset, destination, name_);
}

std::unexpected<Error> OutputFile::write_failed(int error) const {
  if (error == EPIPE)
    return failure("{}: the program that reads it has ended; nothing more can be written", name_);
  if (error == ENOSPC || error == EDQUOT)
    return failure("{}: no space left after {} bytes; free some or choose another place", name_, position_);
  return failure("{}: writing failed after {} bytes ({})", name_, position_, reason(error));
}

Status OutputFile::commit() {
  if (temporary_.empty()) return {};
  if (fsync(descriptor_.get()) != 0) return write_failed(errno);
  if (const int lost = descriptor_.close(); lost != 0) return write_failed(lost);
  const unsigned flags = overwrite_ ? 0U : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), flags) != 0) {
    // A file system that cannot rename without replacing can link without.
    const bool linked = errno == EINVAL && link(temporary_.c_str(), target_.c_str()) == 0;
    if (!linked) return failure("{}: the finished file cannot be moved there ({})", name_, reason(errno));
    unlink(temporary_.c_str());
  }
  temporary_.clear();
  // So that the name outlives a crash of the machine too.
  const auto folder =
      Descriptor::owned(::open(fs::path(target_).parent_path().c_str(), O_RDONLY | O_CLOEXEC));
  if (folder.get() >= 0) static_cast<void>(fsync(folder.get()));
  return {};
}

}  // namespace millrace::dedup
