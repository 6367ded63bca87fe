#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// A linear combination of three inputs, used to convert between colour models.
struct Mix : ValueFunction {
  static Filter about() {
    const auto weight = [](std::string_view name) {
      return Parameter{.name = name, .minimum = -16, .maximum = 16};
    };
    return {.name = "mix",
            .summary = "offset + a*u + b*v + c*w",
            .inputs = 3,
            .parameters = {weight("offset"), weight("a"), weight("b"), weight("c")}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2]),
            static_cast<float>(values[3])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.coefficient(0) + a.coefficient(1) * a.input(0, x, y) + a.coefficient(2) * a.input(1, x, y) +
           a.coefficient(3) * a.input(2, x, y);
  }
};

}  // namespace millrace::image::filters
