#pragma once

#include "millrace/image/filters/blend_mode.h"
#include "millrace/image/filters/code_product.h"
#include "millrace/image/filters/code_sum.h"
#include "millrace/image/filters/named_filters.h"

#include <cmath>
#include <optional>

namespace millrace::image::filters {

// Blend modes that are sums and products of both inputs: c + p*v + q*w + r*v*w.
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

  // Code versions exist for sums in halves of a code, and for products at 8 bits. There, steps between
  // products are larger than the rounding errors of floats.
  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    const auto is_whole = [](float v) { return std::nearbyint(v) == v; };
    if (k[0] != 1.0F) return {};
    const float p = 2 * k[2];
    const float q = 2 * k[3];
    const float r = k[4];
    if (r == 0.0F) {
      const float constant = 2 * k[1] * static_cast<float>(maximum);
      const float whole = std::nearbyint(constant);
      if (!is_whole(p) || !is_whole(q) || std::abs(constant - whole) > 0.05F) return {};
      return CodeFilter{.filter = find_simple_filter(maximum > 255 ? CodeSum<ElementType::u16>::name
                                                                   : CodeSum<ElementType::u8>::name),
                        .coefficients = {p, q, whole + 1, static_cast<float>(maximum)}};
    }
    const bool is_code = (k[2] == 0 && k[3] == 0 && r == 1) || (k[2] == 1 && k[3] == 1 && r == -1);
    if (maximum != 255 || k[1] != 0 || !is_code) return {};
    return CodeFilter{.filter = find_simple_filter(CodeProduct::about().name),
                      .coefficients = {k[2], k[3], r}};
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
