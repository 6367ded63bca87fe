#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// (p*v + q*w + c) / 2 of two codes, rounded down and clamped to the range of codes. With c one larger, this
// rounds to the nearest code, halves up.
template <ElementType type> struct CodeSum : ValueFunction {
  static constexpr std::string_view name = type == ElementType::u8 ? "code_sum_8" : "code_sum_16";
  static constexpr int largest_factor = 4;

  static Filter about() {
    const auto factor = [](std::string_view its_name) {
      return Parameter{.name = its_name,
                       .type = ParameterType::integer,
                       .minimum = -largest_factor,
                       .maximum = largest_factor};
    };
    return {
        .name = name,
        .summary = "the sum of two codes",
        .inputs = 2,
        .kind = SimpleFilter{.input_type = type, .output_type = type},
        .parameters = {factor("p"),
                       factor("q"),
                       {.name = "c", .type = ParameterType::integer, .minimum = -262144, .maximum = 262144},
                       {.name = "maximum", .type = ParameterType::integer, .maximum = 65535}}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2]),
            static_cast<float>(values[3])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float v = a.wide(a.input(0, x, y));
    const Float w = a.wide(a.input(1, x, y));
    const Float sum = A::halved((v * a.whole(0) + w * a.whole(1)) + a.whole(2));
    return A::greater(A::lesser(sum, a.whole(3)), a.whole(4));  // coefficient 4 is 0
  }
};

}  // namespace millrace::image::filters
