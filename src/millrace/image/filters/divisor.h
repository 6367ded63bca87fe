// A number that totals of codes of 8 bits are divided by, known to the call alone: no processor divides
// vectors of whole numbers, but all multiply them.
#pragma once

#include <cmath>

namespace millrace::image::filters {

// The n-th part of v, rounded down, is v * factor, cut by 16 bits and by those of the shift: of every v that
// n codes and n / 2 come to, as a test of all of them says for each n.
struct Divisor {
  static constexpr int least = 2;
  static constexpr int most = 185;

  int shift;
  int factor;  // below 2^16

  explicit Divisor(int n)
      : shift(std::ilogb(static_cast<float>(n - 1))), factor(((1 << (16 + shift)) + n - 1) / n) {}
};

}  // namespace millrace::image::filters
