#pragma once

#include "millrace/image/filters/blend_mode.h"

namespace millrace::image::filters {

// The modes that are sums and products of both inputs: c + p*v + q*w + r*v*w.
struct BlendProduct : Pointwise {
  static Filter about() {
    const auto factor = [](std::string_view name) {
      return Parameter{.name = name, .minimum = -2, .maximum = 2};
    };
    return {.name = "blend_product",
            .summary = "two inputs, their product and a constant, each times a factor",
            .inputs = 2,
            .parameters = {opacity_parameter(), factor("c"), factor("p"), factor("q"), factor("r")}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2]),
            static_cast<float>(values[3]), static_cast<float>(values[4])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float v = a.input(0, x, y);
    const Float w = a.input(1, x, y);
    const Float sum = (a.coefficient(2) * v + a.coefficient(3) * w) + a.coefficient(1);
    return with_opacity(a, v, Float(sum + a.coefficient(4) * (v * w)));
  }
};

}  // namespace millrace::image::filters
