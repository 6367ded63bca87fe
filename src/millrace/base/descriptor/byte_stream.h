// Interfaces for byte sources and sinks: files, pipes and memory.
#pragma once

#include "millrace/base/error/result.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace millrace {

// read() is for one thread at a time; any thread may call cancel().
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills part of the non-empty destination and returns the number of bytes. Returns 0 only at the end.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::byte> destination) = 0;
  // Bytes left to read, if known.
  [[nodiscard]] virtual std::optional<std::uint64_t> remaining() const { return std::nullopt; }
  // A read() that is waiting for data fails as interrupted, and so does every later one.
  virtual void cancel() {}
  // For messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

// For one thread at a time.
class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  // Writes all the bytes or fails.
  [[nodiscard]] virtual Status write(std::span<const std::byte> bytes) = 0;
};

// Random access to bytes that were already written or can be read. Thread-safe.
class RandomBytes {
 public:
  RandomBytes() = default;
  RandomBytes(const RandomBytes&) = delete;
  RandomBytes& operator=(const RandomBytes&) = delete;
  virtual ~RandomBytes() = default;

  // Fills `destination` starting at `offset`. Fails if fewer bytes are available.
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> destination) = 0;
};

// Reads from memory that the caller owns and keeps alive.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes, std::string name = "memory")
      : bytes_(bytes), name_(std::move(name)) {}

  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) override {
    const std::size_t count = std::min(destination.size(), bytes_.size());
    if (count > 0) std::memcpy(destination.data(), bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return count;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
};

}  // namespace millrace
