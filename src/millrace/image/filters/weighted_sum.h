#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// a*v + b*w of two inputs, used for means.
struct WeightedSum : ValueFunction {
  static Filter about() {
    return {.name = "weighted_sum",
            .summary = "the sum of two inputs, each times a weight",
            .inputs = 2,
            .parameters = {{.name = "a", .minimum = -16, .maximum = 16},
                           {.name = "b", .minimum = -16, .maximum = 16}}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.coefficient(0) * a.input(0, x, y) + a.coefficient(1) * a.input(1, x, y);
  }
};

}  // namespace millrace::image::filters
