#pragma once

#include "millrace/image/filters/convolution.h"

namespace millrace::image::filters {

// [-1 0 1; -2 0 2; -1 0 1]: positive if the picture gets brighter to the right.
struct SobelX : Convolution3x3 {
  static Filter about() {
    return {.name = "sobel_x", .summary = "horizontal gradient, Sobel 3x3", .chroma = ChromaDefault::neutral};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const Window<A> w(a, x, y);
    typename A::Float row[3];
    for (int i = 0; i < 3; ++i)
      row[i] = w.value[i][2] - w.value[i][0];
    return (row[0] + row[2]) + (row[1] + row[1]);
  }
};

}  // namespace millrace::image::filters
