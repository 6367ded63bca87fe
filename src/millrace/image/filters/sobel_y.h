#pragma once

#include "millrace/image/filters/convolution.h"

namespace millrace::image::filters {

// [-1 -2 -1; 0 0 0; 1 2 1]: positive if the picture gets brighter downwards.
struct SobelY : Convolution3x3 {
  static Filter about() {
    return {.name = "sobel_y", .summary = "vertical gradient, Sobel 3x3", .chroma = ChromaDefault::neutral};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const Window<A> w(a, x, y);
    typename A::Float column[3];
    for (int i = 0; i < 3; ++i)
      column[i] = w.value[2][i] - w.value[0][i];
    return (column[0] + column[2]) + (column[1] + column[1]);
  }
};

}  // namespace millrace::image::filters
