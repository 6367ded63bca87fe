#pragma once

#include "millrace/image/filters/blend_mode.h"
#include "millrace/image/filters/code_patch.h"
#include "millrace/image/filters/named_filters.h"

#include <optional>

namespace millrace::image::filters {

// The part of `overlay` that mixes: inside a rectangle, the second input over the first one with an opacity;
// outside, the first one.
struct Patch : Pointwise {
  static Filter about() {
    const auto side = [](std::string_view name) {
      return Parameter{.name = name, .type = ParameterType::integer, .minimum = -65536, .maximum = 65536};
    };
    return {.name = "patch",
            .summary = "a rectangle of the second input over the first one",
            .inputs = 2,
            .parameters = {opacity_parameter(), side("left"), side("top"), side("right"), side("bottom")}};
  }

  // 0: opacity; 1 to 4: the rectangle
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2]),
            static_cast<float>(values[3]), static_cast<float>(values[4])};
  }

  // Code versions exist only for full opacity, which mixes nothing.
  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    if (k[0] != 1.0F) return {};
    return CodeFilter{.filter = find_simple_filter(maximum > 255 ? CodePatch<ElementType::u16>::name
                                                                 : CodePatch<ElementType::u8>::name),
                      .coefficients = {k[1], k[2], k[3], k[4]},
                      .computes = false,
                      .rounds = false};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float v = a.input(0, x, y);
    const auto inside = x >= a.integer_coefficient(1) && y >= a.integer_coefficient(2) &&
                        x < a.integer_coefficient(3) && y < a.integer_coefficient(4);
    return a.when(
        inside, [&] { return Float(v + a.coefficient(0) * (a.input(1, x, y) - v)); }, [&] { return v; });
  }
};

}  // namespace millrace::image::filters
