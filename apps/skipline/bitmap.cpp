#include "skipline/bitmap.h"

#include <bit>

namespace millrace::skipline {

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
