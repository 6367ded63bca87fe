// A file, pipe or standard input to read from, with errors that name it.
#pragma once

#include "millrace/video/byte_source.h"
#include "millrace/video/descriptor.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace::video {

// One thread reads; any thread may cancel().
class InputFile final : public ByteSource {
 public:
  // Usage errors: no such file, a directory, not permitted. Failure: an empty file.
  [[nodiscard]] static Result<std::unique_ptr<InputFile>> open(std::string_view path);
  [[nodiscard]] static std::unique_ptr<InputFile> standard_input();
  InputFile(Descriptor descriptor, std::string name);

  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) override;
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override;
  void cancel() override { signal_.cancel(); }

  // Only regular files have a size and a position.
  [[nodiscard]] bool seekable() const { return size_.has_value(); }
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] Status seek(std::uint64_t position);
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Descriptor descriptor_;
  std::string name_;
  std::optional<std::uint64_t> size_;
  std::uint64_t position_ = 0;
  CancelSignal signal_;
};

}  // namespace millrace::video
