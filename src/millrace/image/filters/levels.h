#pragma once

#include "millrace/image/filters/lookup.h"

#include <cmath>

namespace millrace::image::filters {

// clamp((v - black) / (white - black))^(1/gamma)
struct Levels : ValueFunction {
  static Filter about() {
    return {
        .name = "levels",
        .summary = "spread what lies between black and white over [0,1], and bend it by gamma",
        .chroma = ChromaDefault::passes,
        .kind = SimpleFilter{.has_table = true},
        .parameters = {{.name = "black", .summary = "becomes 0, as all below it", .minimum = 0, .maximum = 1},
                       {.name = "white", .summary = "becomes 1, as all above it", .minimum = 0, .maximum = 1},
                       {.name = "gamma",
                        .summary = "above 1 the middle grows brighter, below 1 darker",
                        .minimum = 0.1,
                        .maximum = 10,
                        .required = false,
                        .fallback = 1}}};
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    if (values[1] > values[0]) return input;
    return usage_error("levels: white must lie above black, but {} is not above {}", values[1], values[0]);
  }

  // 0: black; 1: white - black; table: the power function
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const double exponent = 1 / values[2];
    return {{static_cast<float>(values[0]), static_cast<float>(values[1] - values[0])},
            tabulated([exponent](double v) { return std::pow(v, exponent); })};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return looked_up(a, (a.input(0, x, y) - a.coefficient(0)) / a.coefficient(1));
  }
};

}  // namespace millrace::image::filters
