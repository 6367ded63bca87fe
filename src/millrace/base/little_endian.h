// Numbers as the files of this project hold them: unsigned, the least byte first, at any place.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace millrace {

// `bytes` holds sizeof(T) bytes from `at` on.
template <std::unsigned_integral T>
constexpr void put_little_endian(std::span<std::byte> bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

template <std::unsigned_integral T>
[[nodiscard]] constexpr T get_little_endian(std::span<const std::byte> bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes[at + i]) << (8 * i)));
  return value;
}

}  // namespace millrace
