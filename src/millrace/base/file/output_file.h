// OutputFile: writes to a file, pipe or standard output. A file appears under its name only when it is
// complete.
#pragma once

#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/stoppable_wait.h"
#include "millrace/base/descriptor/unwaiting_writes.h"
#include "millrace/base/file/overwrite.h"
#include "millrace/base/file/pending_file.h"

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
  Overwrite overwrite = Overwrite::no;  // whether to replace an existing file; it stays until commit()
  // Whether commit() flushes to disk, so that the file survives a crash of the machine.
  bool durable = true;
  // Whether the stop also ends writes, or only the wait for the reader of a named pipe.
  bool stop_ends_writes = true;
};

// A regular file is a PendingFile until commit(); without commit() nothing of it remains. Devices and named
// pipes are written in place, and so is the open file behind a name such as /dev/stdout. Neither counts as an
// existing output. One thread writes; any thread may call read_at() and cancel(). A stop or cancel() makes a
// write that waits for a pipe's reader fail as interrupted, and all later ones too.
class OutputFile final : public ByteSink, public RandomBytes {
 public:
  // `path`: "-" for standard output. Links are followed. Opening a named pipe waits for its reader; a stop
  // ends that wait as interrupted. Usage errors: a directory, missing folder, permission denied, or the file
  // exists and must not be overwritten.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>>
  open(std::string_view path, const OutputOptions& options = {}, const std::stop_token& stop = {});
  // Reports the usage errors of open() that can be detected in advance. Creates nothing and never waits.
  [[nodiscard]] static Status check(std::string_view path, Overwrite overwrite);
  // Free bytes in the file system for a file of this name. Empty if open() would write in place or fail, or
  // if the size is unknown.
  [[nodiscard]] static std::optional<std::uint64_t> room_for(std::string_view path);
  [[nodiscard]] static std::unique_ptr<OutputFile> standard_output(const std::stop_token& stop = {});
  // An unnamed file in the folder for temporary files ($TMPDIR or /tmp). It is deleted with this object.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> temporary(const std::stop_token& stop = {});
  OutputFile(Descriptor descriptor, std::string name, const std::stop_token& stop = {});

  // A closed reader (EPIPE) is an ordinary error: the process receives no SIGPIPE.
  [[nodiscard]] Status write(std::span<const std::byte> bytes) override;
  void cancel() { wait_.stop(); }
  // Cancels waits that last longer than `patience`.
  void cancel_after(std::chrono::milliseconds patience) { wait_.limit(patience); }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Only regular files support seek() and truncate(). All others can block the writer.
  [[nodiscard]] bool is_regular() const { return regular_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] Status seek(std::uint64_t position);
  [[nodiscard]] Status truncate(std::uint64_t size);
  // Writes at any offset, even beyond the end, and keeps the position. Regular files only.
  [[nodiscard]] Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // Reads back written data. Requires can_read_back() or a temporary file.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> destination) override;
  // Whether open() created the file, so that it can be read until commit().
  [[nodiscard]] bool can_read_back() const { return pending_.has_value(); }

  // Gives the file its name. Nothing can be written afterwards.
  [[nodiscard]] Status commit();

 private:
  [[nodiscard]] std::unexpected<Error> write_failed(int error, std::uint64_t written) const;

  std::optional<PendingFile> pending_;
  Descriptor descriptor_;  // borrowed from pending_ if that exists
  std::string name_;
  std::string target_;  // the final path, for commit()
  Overwrite overwrite_ = Overwrite::no;
  bool durable_ = false;
  bool regular_;
  std::uint64_t position_ = 0;
  StoppableWait wait_;
  std::optional<UnwaitingWrites> writes_;  // if not a regular file
};

}  // namespace millrace
