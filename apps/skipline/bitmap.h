// Bitmap: a bilevel image.
#pragma once

#include "millrace/base/error/result.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::skipline {

using Word = std::uint64_t;
inline constexpr int word_bits = 64;

// A line of pixels: pixel x is bit 63 - x % 64 of word x / 64, 1 for black. Bits beyond the width are 0.
using Line = std::span<const Word>;

// Limits on a side and on the number of pixels.
inline constexpr int longest_side = 1 << 20;
inline constexpr long long most_pixels = 1LL << 32;

// Bytes of such an image, either stored by lines or by columns, whichever is larger. Sides from 1 to
// longest_side.
[[nodiscard]] constexpr std::size_t bitmap_bytes(int width, int height) {
  const auto bytes = [](int across, int down) {
    return (static_cast<std::size_t>(across) + word_bits - 1) / word_bits * sizeof(Word) *
           static_cast<std::size_t>(down);
  };
  return std::max(bytes(width, height), bytes(height, width));
}
// Default limit on these bytes. A square metre at 600 dpi takes half of it.
inline constexpr std::size_t default_limit = std::size_t{128} << 20;

// Failure if an image of this size takes more than `limit` bytes.
[[nodiscard]] Status check_size(int width, int height, std::size_t limit);

class Bitmap {
 public:
  // All white. width, height >= 1.
  Bitmap(int width, int height)
      : width_(width), height_(height),
        stride_((static_cast<std::size_t>(width) + word_bits - 1) / word_bits),
        words_(stride_ * static_cast<std::size_t>(height)) {}

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] Line line(int y) const { return {&words_[stride_ * static_cast<std::size_t>(y)], stride_}; }
  [[nodiscard]] std::span<Word> line(int y) {
    return {&words_[stride_ * static_cast<std::size_t>(y)], stride_};
  }

  [[nodiscard]] bool is_black(int x, int y) const {
    return (line(y)[static_cast<std::size_t>(x / word_bits)] >> (word_bits - 1 - x % word_bits) & 1) != 0;
  }
  void set_black(int x, int y) {
    line(y)[static_cast<std::size_t>(x / word_bits)] |= Word{1} << (word_bits - 1 - x % word_bits);
  }

  // The image with columns stored as lines.
  [[nodiscard]] Bitmap transposed() const;

  bool operator==(const Bitmap&) const = default;

 private:
  int width_;
  int height_;
  std::size_t stride_;
  std::vector<Word> words_;
};

}  // namespace millrace::skipline
