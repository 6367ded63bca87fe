#pragma once

#include "millrace/image/filters/code_blur.h"
#include "millrace/image/filters/convolution.h"
#include "millrace/image/filters/named_filters.h"

#include <optional>

namespace millrace::image::filters {

// [1 2 1] x [1 2 1] / 16. Columns are summed first, so that neighbours in a row share work.
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
    typename A::Float column[3];
    for (int i = 0; i < 3; ++i)
      column[i] = (w.value[0][i] + w.value[2][i]) + (w.value[1][i] + w.value[1][i]);
    return ((column[0] + column[2]) + (column[1] + column[1])) * 0.0625F;
  }
};

}  // namespace millrace::image::filters
