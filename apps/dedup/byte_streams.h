// Where bytes come from and go to: files and pipes in the program, memory in tests.
#pragma once

#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace millrace::dedup {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills some of `destination`, at least a byte; 0 at the end.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::byte> destination) = 0;
  // For messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // All of it.
  [[nodiscard]] virtual Status write(std::span<const std::byte> bytes) = 0;
};

// What was written, or will be read, at any place. Thread-safe.
class RandomBytes {
 public:
  virtual ~RandomBytes() = default;
  // Fills `destination` from `offset` on; failure if there is less.
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> destination) = 0;
};

}  // namespace millrace::dedup
