#include "millrace/base/file/output_file.h"

#include "millrace/base/descriptor/descriptor_name.h"
#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/name_length.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

// Keeps SIGPIPE from this thread's writes away from the process. Blocks the signal during its lifetime and
// consumes it at the end, unless one was already pending.
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

// The destination that a path refers to.
struct Destination {
  bool is_file = true;  // commit() creates it; otherwise it is opened in place
  fs::file_status status;
  fs::path target;  // of a file, with links resolved, so that commit() replaces the file and not the link

  [[nodiscard]] fs::path folder() const {
    return target.has_parent_path() ? target.parent_path() : fs::path(".");
  }
};

// Returns the usage errors of OutputFile::open().
Result<Destination> destination_of(std::string_view path, Overwrite overwrite) {
  const std::string name(path);
  std::error_code error;
  Destination to{.status = fs::status(name, error)};
  const bool exists = fs::exists(to.status);
  if (fs::is_directory(to.status)) return usage_error("{}: is a directory; give the name of a file", name);
  to.is_file = name != "-" && (!exists || fs::is_regular_file(to.status)) && !descriptor_named(name);
  if (!to.is_file) return to;
  // Absolute, so that the folder is known even if the file does not exist.
  to.target = fs::weakly_canonical(fs::absolute(name, error), error);
  if (error) to.target = name;
  if (Status nameable = check_name_length(to.target.native()); !nameable)
    return usage_error("{}: {}", name, nameable.error().message);
  if (!exists && fs::is_symlink(fs::symlink_status(to.target, error)))
    return usage_error("{}: is a link to a file that does not exist; give that file's name", name);
  if (exists && overwrite == Overwrite::no)
    return usage_error("{}: exists; give -y to overwrite it, or choose another output", name);
  if (exists && access(to.target.c_str(), W_OK) != 0)
    return usage_error("{}: cannot be replaced ({}); choose another output", name, system_reason(errno));
  if (!fs::is_directory(to.folder(), error))
    return usage_error("{}: there is no folder {}; create it or choose another output", name,
                       to.folder().string());
  if (access(to.folder().c_str(), W_OK) != 0)
    return usage_error("{}: cannot be written in {} ({}); choose another output", name, to.folder().string(),
                       system_reason(errno));
  return to;
}

// Opens an existing destination that is not a file to replace.
Result<Descriptor> open_in_place(const std::string& name, bool named_pipe, const std::stop_token& stop) {
  // A blocking open() of a named pipe waits for its reader, and only a signal can end that wait. Poll
  // instead.
  constexpr std::chrono::milliseconds between_tries{20};
  // Duplicate a stream that is already open. Opening it again would start at the beginning of a file that
  // others append to, and is impossible for a socket.
  if (const auto open = descriptor_named(name); open && (fcntl(*open, F_GETFL) & O_ACCMODE) != O_RDONLY)
    if (auto shared = Descriptor::owned(fcntl(*open, F_DUPFD_CLOEXEC, 0)); shared.is_open()) return shared;
  const StoppableWait wait(stop);
  for (;;) {
    // Use the original name: the target of a /proc link may have no other.
    auto file = Descriptor::owned(::open(name.c_str(), O_WRONLY | O_CLOEXEC | (named_pipe ? O_NONBLOCK : 0)));
    if (file.is_open()) return file;
    if (!named_pipe || errno != ENXIO)
      return usage_error("{}: cannot be opened for writing ({}); choose another output", name,
                         system_reason(errno));
    if (!wait.for_time(between_tries))
      return std::unexpected(Error{ErrorKind::interrupted, name + ": waiting for its reader was stopped"});
  }
}

}  // namespace

Status OutputFile::check(std::string_view path, Overwrite overwrite) {
  const auto destination = destination_of(path, overwrite);
  if (!destination) return std::unexpected(destination.error());
  return {};
}

std::optional<std::uint64_t> OutputFile::room_for(std::string_view path) {
  const auto destination = destination_of(path, Overwrite::yes);
  if (!destination || !destination->is_file) return std::nullopt;
  std::error_code error;
  const fs::space_info space = fs::space(destination->folder(), error);
  if (error) return std::nullopt;
  return space.available;
}

Result<std::unique_ptr<OutputFile>> OutputFile::open(std::string_view path, const OutputOptions& options,
                                                     const std::stop_token& stop) {
  const std::stop_token writing_stop = options.stop_ends_writes ? stop : std::stop_token();
  if (path == "-") return standard_output(writing_stop);
  const std::string name(path);
  auto destination = destination_of(path, options.overwrite);
  if (!destination) return std::unexpected(std::move(destination.error()));
  if (!destination->is_file) {
    auto in_place = open_in_place(name, fs::is_fifo(destination->status), stop);
    if (!in_place) return std::unexpected(std::move(in_place.error()));
    return std::make_unique<OutputFile>(*std::move(in_place), name, writing_stop);
  }
  auto pending = PendingFile::create(destination->target);
  if (!pending)
    return usage_error("{}: cannot be written in {} ({}); choose another output", name,
                       destination->folder().string(), system_reason(pending.error()));
  auto file = std::make_unique<OutputFile>(Descriptor::borrowed(pending->get()), name, writing_stop);
  file->pending_.emplace(*std::move(pending));
  file->target_ = destination->target;
  file->overwrite_ = options.overwrite;
  file->durable_ = options.durable;
  if (fs::exists(destination->status) &&
      fchmod(file->descriptor_.get(), static_cast<mode_t>(destination->status.permissions())) != 0)
    return failure("{}: its permissions cannot be kept ({}); choose another output", name,
                   system_reason(errno));
  return file;
}

std::unique_ptr<OutputFile> OutputFile::standard_output(const std::stop_token& stop) {
  return std::make_unique<OutputFile>(Descriptor::borrowed(STDOUT_FILENO), "standard output", stop);
}

Result<std::unique_ptr<OutputFile>> OutputFile::temporary(const std::stop_token& stop) {
  const char* const wanted = std::getenv("TMPDIR");
  const std::string folder = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  auto file = PendingFile::create(fs::path(folder) / "millrace");
  if (!file)
    return failure("no temporary file can be made in {} ({}); set TMPDIR to another folder", folder,
                   system_reason(file.error()));
  return std::make_unique<OutputFile>((*std::move(file)).without_name(), "the temporary file in " + folder,
                                      stop);
}

OutputFile::OutputFile(Descriptor descriptor, std::string name, const std::stop_token& stop)
    : descriptor_(std::move(descriptor)), name_(std::move(name)), regular_(descriptor_.is_regular_file()),
      wait_(stop) {
  // A redirected standard output may not be at the start of the file.
  if (regular_)
    position_ = static_cast<std::uint64_t>(std::max<off_t>(0, lseek(descriptor_.get(), 0, SEEK_CUR)));
  else
    writes_.emplace(descriptor_.get());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  if (regular_) {
    const Transfer done = write_all(descriptor_.get(), bytes);
    position_ += done.bytes;
    if (done.bytes < bytes.size()) return write_failed(done.error, position_);
    return {};
  }
  const SigpipeGuard guard;
  while (!bytes.empty()) {
    if (!wait_.until_writable(descriptor_.get()))
      return std::unexpected(Error{ErrorKind::interrupted, name_ + ": writing was stopped"});
    // Only the wait above can block, so a stop ends every wait.
    const ssize_t count = writes_->write(bytes);
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return write_failed(errno, position_);
    }
    position_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status OutputFile::seek(std::uint64_t position) {
  if (!regular_ || lseek(descriptor_.get(), static_cast<off_t>(position), SEEK_SET) < 0)
    return failure("{}: cannot be repositioned", name_);
  position_ = position;
  return {};
}

Status OutputFile::truncate(std::uint64_t size) {
  if (!regular_ || ftruncate(descriptor_.get(), static_cast<off_t>(size)) < 0)
    return failure("{}: cannot be cut to {} bytes", name_, size);
  return seek(size);
}

Status OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  const Transfer done = write_all_at(descriptor_.get(), offset, bytes);
  if (done.bytes < bytes.size()) return write_failed(done.error, offset + done.bytes);
  return {};
}

Status OutputFile::read_at(std::uint64_t offset, std::span<std::byte> destination) {
  const Transfer done = read_all_at(descriptor_.get(), offset, destination);
  if (done.bytes == destination.size()) return {};
  return failure("{}: reading back at byte {} failed ({})", name_, offset + done.bytes,
                 done.error != 0 ? system_reason(done.error) : "the file ends there");
}

std::unexpected<Error> OutputFile::write_failed(int error, std::uint64_t written) const {
  if (error == EPIPE)
    return failure("{}: the program that reads it has ended; nothing more can be written", name_);
  if (error == ENOSPC || error == EDQUOT)
    return failure("{}: no space left after {} bytes; free some or choose another place", name_, written);
  if (error == EFBIG)
    return failure(
        "{}: cannot grow beyond {} bytes (ulimit -f, or the file system's own limit); raise the limit or "
        "choose another place",
        name_, written);
  return failure("{}: writing failed after {} bytes ({})", name_, written, system_reason(error));
}

Status OutputFile::commit() {
  if (!pending_) return {};
  if (durable_ && fsync(descriptor_.get()) != 0) return write_failed(errno, position_);
  if (const int error = pending_->publish(overwrite_ == Overwrite::yes); error != 0) {
    // Another program may have created the target in the meantime. Keep both that file and our result.
    const bool whole = error != EIO && error != ENOSPC && error != EDQUOT;
    if (const auto kept = whole ? pending_->publish_beside() : std::nullopt)
      return failure("{}: the finished file cannot be moved there ({}); it is kept as {}", name_,
                     system_reason(error), kept->string());
    return failure("{}: the finished file cannot be moved there ({})", name_, system_reason(error));
  }
  descriptor_.close();
  pending_.reset();
  if (durable_) {
    // Makes the new name survive a crash of the machine. Some file systems cannot flush folders; the file's
    // content is safe anyway.
    const auto folder = Descriptor::owned(
        ::open(fs::path(target_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.is_open()) static_cast<void>(fsync(folder.get()));
  }
  return {};
}

}  // namespace millrace
