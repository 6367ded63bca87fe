// InputFile: reads a file, pipe or standard input, with errors that name it.
#pragma once

#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/stoppable_wait.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace millrace {

// The advice in error messages: what to give instead of a missing file or a folder.
struct InputAdvice {
  std::string_view missing = "give a file, or - for standard input";
  std::string_view directory = "give a file in it";
};

// One thread may use read() and seek(). Any number of threads may use read_at() and cancel(). A stop or
// cancel() makes a read that waits for a pipe fail as interrupted, and all later ones too.
class InputFile final : public ByteSource, public RandomBytes {
 public:
  // `path`: "-" for standard input. open() does not wait for the writer of a named pipe; read() does. Usage
  // errors: no such file, a directory, permission denied.
  [[nodiscard]] static Result<std::unique_ptr<InputFile>>
  open(std::string_view path, const InputAdvice& advice = {}, const std::stop_token& stop = {});
  [[nodiscard]] static std::unique_ptr<InputFile> standard_input(const std::stop_token& stop = {});
  InputFile(Descriptor descriptor, std::string name, const std::stop_token& stop = {});

  // Fails where a file ends earlier than it did when it was opened.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) override;
  void cancel() override { wait_.stop(); }
  [[nodiscard]] bool is_stopped() const { return wait_.is_stopped(); }
  [[nodiscard]] const std::string& name() const override { return name_; }

  // Only regular files have a size and a position. All others can block a reader.
  [[nodiscard]] bool is_regular() const { return size_.has_value(); }
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override;
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] Status seek(std::uint64_t position);
  // `offset` counts from the position that the file had when it was opened. Regular files only.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> destination) override;

  // Whether `path` names this file.
  [[nodiscard]] bool is_same_file(const std::string& path) const;

 private:
  [[nodiscard]] bool has_shrunk() const;

  Descriptor descriptor_;
  std::string name_;
  std::optional<std::uint64_t> size_;
  // Regular files never block a reader, except kernel files such as /proc/kmsg, which have no size.
  bool may_wait_ = true;
  std::uint64_t start_ = 0;
  std::uint64_t position_ = 0;
  StoppableWait wait_;
};

}  // namespace millrace
