// InputFile: a file, pipe or standard input to read from, with errors that name it.
#pragma once

#include "millrace/base/byte_stream.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/stoppable_wait.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace millrace {

// The ways out that messages name: what to give in place of a file that is not there, or is a folder.
struct InputAdvice {
  std::string_view missing = "give a file, or - for standard input";
  std::string_view directory = "give a file in it";
};

// read() and seek() are for one thread, read_at() for any number; any may cancel(). A stop or cancel() ends a
// read that waits for a pipe, and all later ones from it, as interrupted.
class InputFile final : public ByteSource, public RandomBytes {
 public:
  // `path`: "-" for standard input. A named pipe that nobody writes yet is waited for by read(). Usage
  // errors: no such file, a directory, not permitted.
  [[nodiscard]] static Result<std::unique_ptr<InputFile>>
  open(std::string_view path, const InputAdvice& advice = {}, const std::stop_token& stop = {});
  [[nodiscard]] static std::unique_ptr<InputFile> standard_input(const std::stop_token& stop = {});
  InputFile(Descriptor descriptor, std::string name, const std::stop_token& stop = {});

  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) override;
  void cancel() override { wait_.stop(); }
  [[nodiscard]] bool is_stopped() const { return wait_.is_stopped(); }
  [[nodiscard]] const std::string& name() const override { return name_; }

  // Only regular files have a size and a position; the others may make a reader wait.
  [[nodiscard]] bool is_regular() const { return size_.has_value(); }
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override;
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] Status seek(std::uint64_t position);
  // From the place where the file stood when it was opened. Regular files only.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> destination) override;

  // Whether it is the file of this path.
  [[nodiscard]] bool is_same_file(const std::string& path) const;

 private:
  Descriptor descriptor_;
  std::string name_;
  std::optional<std::uint64_t> size_;
  // A regular file never makes a reader wait, unless it is one of the kernel's (/proc/kmsg), which have no
  // size.
  bool may_wait_ = true;
  std::uint64_t start_ = 0;
  std::uint64_t position_ = 0;
  StoppableWait wait_;
};

}  // namespace millrace
