// Serialises numbers and texts in memory.
#pragma once

#include "millrace/base/numbers/little_endian.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::similar {

class ByteWriter {
 public:
  template <FileNumber T> void number(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    put_little_endian(std::span(bytes_), at, value);
  }
  // Writes the length, then the bytes.
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    raw(std::as_bytes(std::span(value)));
  }
  void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what a ByteWriter wrote. Reading past the end gives zeros and empty texts and sets overrun().
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <FileNumber T> T number() {
    const auto bytes = raw(sizeof(T));
    return bytes ? get_little_endian<T>(*bytes, 0) : T{};
  }
  std::string text() {
    const auto bytes = raw(number<std::uint32_t>());
    if (!bytes) return {};
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }
  std::optional<std::span<const std::byte>> raw(std::size_t size) {
    if (size > bytes_.size()) {
      overrun_ = true;
      bytes_ = {};
      return std::nullopt;
    }
    const auto result = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return result;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }
  // Whether all reads were within the bytes and nothing is left.
  [[nodiscard]] bool complete() const { return !overrun_ && bytes_.empty(); }
  [[nodiscard]] bool overrun() const { return overrun_; }

 private:
  std::span<const std::byte> bytes_;
  bool overrun_ = false;
};

}  // namespace millrace::similar
