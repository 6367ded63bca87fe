// OutputFile: a file, pipe or standard output to write to. A file comes into being under its name only when
// it is complete.
#pragma once

#include "dedup/byte_streams.h"
#include "dedup/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

namespace millrace::dedup {

// A regular file is written next to its place as ".NAME.PID-N.part" and moved there by commit(); without
// commit() it is removed. Devices and named pipes are written in place. One thread writes, any may read_at().
// A stop ends a write that waits for a pipe's reader, as interrupted.
class OutputFile final : public ByteSink, public RandomBytes {
 public:
  // `path`: "-" for standard output. Usage errors: a directory, no such folder, not permitted, exists (unless
  // it may be replaced).
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> open(const std::string& path, bool overwrite,
                                                                const std::stop_token& stop);
  // A file without a name, in the folder for temporary files ($TMPDIR or /tmp), which ends with this object.
  [[nodiscard]] static Result<std::unique_ptr<OutputFile>> temporary(const std::stop_token& stop);
  OutputFile(Descriptor descriptor, std::string name, const std::stop_token& stop);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() override;

  // A reader that went away is an error like any other where SIGPIPE is ignored.
  [[nodiscard]] Status write(std::span<const std::byte> bytes) override;
  // Regular files only: at any place, beyond the end too.
  [[nodiscard]] Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // What was written. Only where can_read_back().
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> destination) override;

  // Whether it was made here and can be read while it is written.
  [[nodiscard]] bool can_read_back() const { return !temporary_.empty(); }
  // Whether writing may wait for somebody.
  [[nodiscard]] bool may_wait() const { return !regular_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Has the file stored and gives it its name.
  [[nodiscard]] Status commit();

 private:
  [[nodiscard]] std::unexpected<Error> write_failed(int error) const;

  Descriptor descriptor_;
  std::string name_;
  bool regular_;
  std::string target_;     // of commit(); empty where written in place
  std::string temporary_;  // empty once moved
  bool overwrite_ = false;
  std::uint64_t position_ = 0;
  StoppableWait wait_;
};

}  // namespace millrace::dedup
