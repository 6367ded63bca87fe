#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// The part of `unsharp` that amplifies the difference from the smoothed input: v + amount*(v - smooth).
struct Exaggerate : ValueFunction {
  static Filter about() {
    return {.name = "exaggerate",
            .summary = "adds the difference of two inputs to the first",
            .inputs = 2,
            .parameters = {{.name = "amount", .minimum = -16, .maximum = 16}}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const typename A::Float v = a.input(0, x, y);
    return v + a.coefficient(0) * (v - a.input(1, x, y));
  }
};

}  // namespace millrace::image::filters
