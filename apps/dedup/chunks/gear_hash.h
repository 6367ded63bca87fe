// GearHash: a rolling hash of the last 64 bytes, with one shift and one addition per byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace::dedup {

// A random word for each byte value: outputs of SplitMix64 (Steele, Lea, Flood 2014) from a fixed seed. With
// other words the cuts, and so the archives of one input, would differ between versions.
inline constexpr std::array<std::uint64_t, 256> gear_words = [] {
  std::array<std::uint64_t, 256> words{};
  std::uint64_t state = 0x6d696c6c72616365;
  for (std::uint64_t& word : words) {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    word = mixed ^ (mixed >> 31);
  }
  return words;
}();

// The gear hash (Xia et al., Ddelta, 2014): value = sum of word[b_i] << i modulo 2^64, where b_i is the byte
// i positions back. After 64 more bytes a word is shifted out, so the value depends only on the last 64
// bytes. Bit k depends only on the last k + 1 bytes: use the high bits.
class GearHash {
 public:
  static constexpr std::size_t window = 64;

  constexpr void roll(std::byte next) {
    value_ = (value_ << 1) + gear_words[std::to_integer<std::size_t>(next)];
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace millrace::dedup
