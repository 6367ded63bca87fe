#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// sqrt(a^2 + b^2) of two inputs, such as the two Sobel gradients.
struct Magnitude : ValueFunction, NoCoefficients {
  static Filter about() {
    return {.name = "magnitude",
            .summary = "length of the vector that two inputs make: sqrt(a^2+b^2)",
            .inputs = 2,
            .chroma = ChromaDefault::neutral};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const typename A::Float u = a.input(0, x, y);
    const typename A::Float v = a.input(1, x, y);
    return A::sqrt(u * u + v * v);
  }
};

}  // namespace millrace::image::filters
