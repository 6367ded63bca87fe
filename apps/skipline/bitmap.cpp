#include "skipline/bitmap.h"

#include <bit>

namespace millrace::skipline {

Status check_size(int width, int height, std::size_t limit) {
  const std::size_t bytes = bitmap_bytes(width, height);
  if (bytes <= limit) return {};
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return failure(
      "{}x{} pixels, which take {} bytes, more than the limit of {}; if you trust it, give --limit {}M",
      width, height, bytes, limit, (bytes + mebibyte - 1) / mebibyte);
}

Bitmap Bitmap::transposed() const {
  Bitmap result(height_, width_);
  for (int y = 0; y < height_; ++y) {
    const Line words = line(y);
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (Word left = words[i]; left != 0;) {
        const int bit = std::countl_zero(left);
        left &= ~(Word{1} << (word_bits - 1 - bit));
        result.set_black(y, static_cast<int>(i) * word_bits + bit);
      }
    }
  }
  return result;
}

}  // namespace millrace::skipline
