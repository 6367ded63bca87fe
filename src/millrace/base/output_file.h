// OutputFile: a file, pipe or standard output to write to. A file comes into being under its name only when
// it is complete.
#pragma once

#include "millrace/base/byte_stream.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/overwrite.h"
#include "millrace/base/pending_file.h"
#include "millrace/base/stoppable_wait.h"
#include "millrace/base/unwaiting_writes.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace millrace {

struct OutputOptions {
  Overwrite overwrite = Overwrite::no;  // an existing file; what is there stays until commit()
  // Whether commit() waits for the disk, so that a crash of the machine does not undo it.
  bool durable = true;
  // Whether the stop ends writes too, or only the wait for the reader of a named pipe.
  bool stop_ends_writes = true;
};

// A regular file is a PendingFile until commit(), without which nothing of it is left. Devices and named
// pipes are written in place, and so is whatever a name like /dev/stdout says this process has open: neither
// is an output that exists already. One thread writes, any may read_at() and cancel(). A stop or cancel()
// ends a write that waits for a pipe's reader, and all later ones to it, as interrupted.
class OutputFile final : public ByteSink, public RandomBytes {
 public:
  // `path`: "-" for standard output. A link is followed. A named pipe is opened when it has a reader; a
  // stop ends that wait as interrupted. Usage errors: a directory, no such folder, not permitted, exists and
  // is not to be overwritten.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>>
  open(std::string_view path, const OutputOptions& options = {}, const std::stop_token& stop = {});
  // The usage errors of open() that can be known beforehand; makes nothing and waits for nothing.
  [[nodiscard]] static Status check(std::string_view path, Overwrite overwrite);
  // How many bytes the file system has room for where open() would make a file of this name; none where it
  // would write in place, or cannot, or nobody knows.
  [[nodiscard]] static std::optional<std::uint64_t> room_for(std::string_view path);
  [[nodiscard]] static std::unique_ptr<OutputFile> standard_output(const std::stop_token& stop = {});
  // A file without a name, in the folder for temporary files ($TMPDIR or /tmp), which ends with this object.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> temporary(const std::stop_token& stop = {});
  OutputFile(Descriptor descriptor, std::string name, const std::stop_token& stop = {});

  // A reader that went away (EPIPE) is an error like any other: no SIGPIPE reaches the process.
  [[nodiscard]] Status write(std::span<const std::byte> bytes) override;
  void cancel() { wait_.stop(); }
  // The same for waits that last longer than this.
  void cancel_after(std::chrono::milliseconds patience) { wait_.limit(patience); }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Only regular files have a position that can be changed and an end that can be cut off; the others may
  // make a writer wait.
  [[nodiscard]] bool is_regular() const { return regular_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] Status seek(std::uint64_t position);
  [[nodiscard]] Status truncate(std::uint64_t size);
  // At any place, beyond the end too; leaves the position alone. Regular files only.
  [[nodiscard]] Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // What was written. Only where can_read_back(), and of a temporary file.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> destination) override;
  // Whether it was made by open() and can be read until commit().
  [[nodiscard]] bool can_read_back() const { return pending_.has_value(); }

  // Gives the file its name. Nothing can be written after it.
  [[nodiscard]] Status commit();

 private:
  [[nodiscard]] std::unexpected<Error> write_failed(int error, std::uint64_t written) const;

  std::optional<PendingFile> pending_;
  Descriptor descriptor_;  // borrowed from pending_ where there is one
  std::string name_;
  std::string target_;  // of commit()
  Overwrite overwrite_ = Overwrite::no;
  bool durable_ = false;
  bool regular_;
  std::uint64_t position_ = 0;
  StoppableWait wait_;
  std::optional<UnwaitingWrites> writes_;  // where it is not regular
};

}  // namespace millrace
