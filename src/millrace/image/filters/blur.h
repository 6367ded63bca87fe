#pragma once

#include "millrace/image/filters/code_blur.h"
#include "millrace/image/filters/convolution.h"
#include "millrace/image/filters/named_filters.h"

#include <optional>

namespace millrace::image::filters {

// [1 2 1] x [1 2 1] / 16. Rows are summed first, so that rows computed together in a kernel share those sums.
struct Blur : Convolution3x3 {
  static Filter about() {
    return {.name = "blur", .summary = "smooth with the 3x3 binomial window [1 2 1]x[1 2 1]/16"};
  }

  static std::optional<CodeFilter> codes(const Coefficients& /*k*/, int maximum) {
    return CodeFilter{.filter = find_simple_filter(maximum > 255 ? CodeBlur<ElementType::u16>::name
                                                                 : CodeBlur<ElementType::u8>::name)};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const Window<A> w(a, x, y);
    typename A::Float row[3];
    for (int i = 0; i < 3; ++i)
      row[i] = (w.value[i][0] + w.value[i][2]) + (w.value[i][1] + w.value[i][1]);
    return ((row[0] + row[2]) + (row[1] + row[1])) * 0.0625F;
  }
};

}  // namespace millrace::image::filters
