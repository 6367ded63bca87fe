// A file, pipe or standard output to write to. A file comes into being under its name only when it is
// complete.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace millrace::video {

// A regular file is written next to its place as ".NAME.PID-N.part" and moved there by commit(); without
// commit() it is removed. Devices and named pipes are written in place. One thread writes; any thread may
// cancel().
class OutputFile {
 public:
  // Usage errors: a directory, no such folder, not permitted, exists (unless it may be replaced).
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> open(std::string_view path, bool overwrite);
  [[nodiscard]] static std::unique_ptr<OutputFile> standard_output();
  OutputFile(Descriptor descriptor, std::string name);

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Writes all of it. A reader that went away (EPIPE) is an error like any other: no SIGPIPE reaches the
  // process.
  [[nodiscard]] Status write(std::span<const std::byte> bytes);

  // Only regular files have a position that can be changed and an end that can be cut off.
  [[nodiscard]] bool seekable() const { return seekable_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] Status seek(std::uint64_t position);
  [[nodiscard]] Status truncate(std::uint64_t size);

  // Closes the file and gives it its name.
  [[nodiscard]] Status commit();

  // From any thread: a write() that waits for a pipe's reader, and every later one, fails as interrupted.
  void cancel() { signal_.cancel(); }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Descriptor descriptor_;
  std::string name_;
  std::string target_;     // of commit(); empty where written in place
  std::string temporary_;  // empty once moved
  bool overwrite_ = true;
  bool seekable_ = false;
  std::uint64_t position_ = 0;
  CancelSignal signal_;
};

}  // namespace millrace::video
