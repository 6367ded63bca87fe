#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// round(v * (n-1)) / (n-1), ties to even: n levels from 0 to 1.
struct Discretise : ValueFunction {
  static Filter about() {
    return {.name = "discretise",
            .summary = "reduce to evenly spaced levels: round(v*(levels-1))/(levels-1)",
            .chroma = ChromaDefault::passes,  // rounding would tint gray, because 0.5 is seldom a level
            .parameters = {{.name = "levels",
                            .summary = "how many values are left in [0,1]",
                            .unit = "levels",
                            .type = ParameterType::integer,
                            .minimum = 2,
                            .maximum = 65536}}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0] - 1)};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return A::rint(a.input(0, x, y) * a.coefficient(0)) / a.coefficient(0);
  }
};

}  // namespace millrace::image::filters
