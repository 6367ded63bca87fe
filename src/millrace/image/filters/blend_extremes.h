#pragma once

#include "millrace/image/filters/blend_mode.h"
#include "millrace/image/filters/code_extremes.h"

#include <optional>

namespace millrace::image::filters {

// Blend modes that compare the inputs: p * the greater one + q * the lesser one.
struct BlendExtremes : Pointwise {
  static Filter about() {
    return {.name = "blend_extremes",
            .summary = "the greater of two inputs and the lesser one, each times a factor",
            .inputs = 2,
            .parameters = {opacity_parameter(),
                           {.name = "p", .minimum = -1, .maximum = 1},
                           {.name = "q", .minimum = -1, .maximum = 1}}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2])};
  }

  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    if (k[0] != 1.0F) return {};
    return extremes_of_codes(k[1], k[2], maximum);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float v = a.input(0, x, y);
    const Float w = a.input(1, x, y);
    const Float result = a.coefficient(1) * A::greater(v, w) + a.coefficient(2) * A::lesser(v, w);
    return with_opacity(a, v, result);
  }
};

}  // namespace millrace::image::filters
