// InputFile: a file, pipe or standard input to read from, with errors that name it.
#pragma once

#include "dedup/byte_streams.h"
#include "dedup/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace millrace::dedup {

// read() is for one thread, read_at() for any number. A stop ends a read that waits for a pipe, as
// interrupted.
class InputFile final : public ByteSource, public RandomBytes {
 public:
  // `path`: "-" for standard input. Usage errors: no such file, a directory, not permitted.
  [[nodiscard]] static Result<std::unique_ptr<InputFile>> open(const std::string& path,
                                                               const std::stop_token& stop);
  InputFile(Descriptor descriptor, std::string name, const std::stop_token& stop);

  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) override;
  // From the place where the file stood when it was opened. Regular files only.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> destination) override;
  [[nodiscard]] const std::string& name() const override { return name_; }

  // What is left to read when opened; none for pipes and devices, which may make a reader wait.
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }
  [[nodiscard]] bool is_regular() const { return size_.has_value(); }
  // Whether it is the file of this path.
  [[nodiscard]] bool is_same_file(const std::string& path) const;

 private:
  Descriptor descriptor_;
  std::string name_;
  std::optional<std::uint64_t> size_;
  std::uint64_t start_ = 0;
  std::uint64_t position_ = 0;
  StoppableWait wait_;
};

// Fills `destination` from `offset` of a regular file; `name` is for messages.
[[nodiscard]] Status read_fully(int fd, std::uint64_t offset, std::span<std::byte> destination,
                                const std::string& name);

}  // namespace millrace::dedup
