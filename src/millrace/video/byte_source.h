// Where the bytes of a video come from: a file, a pipe, or memory.
#pragma once

#include "millrace/base/result.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace millrace::video {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills a part of the destination, which is not empty, and returns how much; 0 only at the end.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::byte> destination) = 0;

  // Bytes left to read, where that is known.
  [[nodiscard]] virtual std::optional<std::uint64_t> remaining() const { return std::nullopt; }

  // From any thread: a read() that waits for data, and every later one, fails as interrupted.
  virtual void cancel() {}
};

// Reads memory that somebody else owns and keeps.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) override {
    const std::size_t count = std::min(destination.size(), bytes_.size());
    if (count > 0) std::memcpy(destination.data(), bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return count;
  }

  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace millrace::video
