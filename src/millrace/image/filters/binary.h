#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// 1 if the input is positive, else 0.
struct Binary : ValueFunction, NoCoefficients {
  static Filter about() {
    return {.name = "binary",
            .summary = "1 where the value is above 0, else 0",
            .chroma = ChromaDefault::neutral};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const typename A::Float v = a.input(0, x, y);
    return a.when(v > 0.0F, [] { return typename A::Float(1.0F); }, [] { return typename A::Float(0.0F); });
  }
};

}  // namespace millrace::image::filters
