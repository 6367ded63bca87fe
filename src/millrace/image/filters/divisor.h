// Divides totals of 8-bit codes by a number that is known only at call time. No processor has a vector
// integer division, so this multiplies instead.
#pragma once

#include <cmath>

namespace millrace::image::filters {

// v / n rounded down is v * factor shifted right by 16 bits and then by `shift`. It is exact for every v up
// to n codes + n / 2; a test checks all of them for each n.
struct Divisor {
  static constexpr int least = 2;
  static constexpr int most = 185;

  int shift;
  int factor;  // below 2^16

  explicit Divisor(int n)
      : shift(std::ilogb(static_cast<float>(n - 1))), factor(((1 << (16 + shift)) + n - 1) / n) {}
};

}  // namespace millrace::image::filters
