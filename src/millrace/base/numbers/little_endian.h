// Numbers in the project's file format: little-endian, at any alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace millrace {

// Integers and IEEE 754 floating-point numbers.
template <class T>
concept FileNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;

namespace little_endian {

template <std::size_t bytes> struct Unsigned;
template <> struct Unsigned<1> {
  using Type = std::uint8_t;
};
template <> struct Unsigned<2> {
  using Type = std::uint16_t;
};
template <> struct Unsigned<4> {
  using Type = std::uint32_t;
};
template <> struct Unsigned<8> {
  using Type = std::uint64_t;
};
// The unsigned integer of the same size.
template <FileNumber T> using Bits = Unsigned<sizeof(T)>::Type;

}  // namespace little_endian

// `bytes` must hold sizeof(T) bytes starting at `at`.
template <FileNumber T>
constexpr void put_little_endian(std::span<std::byte> bytes, std::size_t at, T value) {
  const auto bits = std::bit_cast<little_endian::Bits<T>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes[at + i] = static_cast<std::byte>(bits >> (8 * i));
}

template <FileNumber T>
[[nodiscard]] constexpr T get_little_endian(std::span<const std::byte> bytes, std::size_t at) {
  using Bits = little_endian::Bits<T>;
  Bits bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bits = static_cast<Bits>(bits | static_cast<Bits>(std::to_integer<Bits>(bytes[at + i]) << (8 * i)));
  return std::bit_cast<T>(bits);
}

}  // namespace millrace
