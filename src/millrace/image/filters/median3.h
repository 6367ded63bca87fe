#pragma once

#include "millrace/image/filters/convolution.h"
#include "millrace/image/filters/median_of.h"

namespace millrace::image::filters {

// The median of 3x3 pixels.
struct Median3 : Convolution3x3 {
  static Filter about() { return {.name = "median3", .summary = "the median of 3x3 pixels"}; }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const Window<A> w(a, x, y);
    std::array<typename A::Float, 9> values;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = w.value[i / 3][i % 3];
    return median_of<A>(values);
  }
};

}  // namespace millrace::image::filters
