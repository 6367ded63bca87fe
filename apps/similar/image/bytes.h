// Bytes: reads the fields of file headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace millrace::similar {

// Reads numbers at offsets; nullopt beyond the end.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes, bool little_endian = false)
      : bytes_(bytes), little_endian_(little_endian) {}

  [[nodiscard]] std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t place = little_endian_ ? size - 1 - i : i;
      value = value << 8 | std::to_integer<std::uint32_t>(bytes_[at + place]);
    }
    return value;
  }
  [[nodiscard]] bool has(std::size_t at, std::string_view text) const {
    if (at > bytes_.size() || bytes_.size() - at < text.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (std::to_integer<char>(bytes_[at + i]) != text[i]) return false;
    return true;
  }
  [[nodiscard]] std::span<const std::byte> part(std::size_t at, std::size_t size) const {
    return bytes_.subspan(at, size);
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool little_endian_;
};

}  // namespace millrace::similar
