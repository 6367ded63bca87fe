#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// p*v + q*w + r*v*w/255 of two 8-bit codes, to the nearest code, which is always unique. |p|, |q| and |r| are
// at most 1, and the result must be a code.
struct CodeProduct : ValueFunction {
  static Filter about() {
    const auto factor = [](std::string_view name) {
      return Parameter{.name = name, .type = ParameterType::integer, .minimum = -1, .maximum = 1};
    };
    return {.name = "code_product_8",
            .summary = "the product of two codes",
            .inputs = 2,
            .kind = SimpleFilter{.input_type = ElementType::u8, .output_type = ElementType::u8},
            .parameters = {factor("p"), factor("q"), factor("r")}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float v = a.input(0, x, y);
    const Float w = a.input(1, x, y);
    const Float product = A::mean(a.total(v) * a.total(w), 255);
    return (a.wide(v) * a.whole(0) + a.wide(w) * a.whole(1)) + product * a.whole(2);
  }
};

}  // namespace millrace::image::filters
