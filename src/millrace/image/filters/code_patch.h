#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// The second input inside a rectangle, the first one outside.
template <ElementType type> struct CodePatch : Pointwise {
  static constexpr std::string_view name = type == ElementType::u8 ? "patch_8" : "patch_16";

  static Filter about() {
    const auto side = [](std::string_view its_name) {
      return Parameter{.name = its_name, .type = ParameterType::integer, .minimum = -65536, .maximum = 65536};
    };
    return {.name = name,
            .summary = "a rectangle of the second input in the place of the first one",
            .inputs = 2,
            .kind = SimpleFilter{.input_type = type, .output_type = type},
            .parameters = {side("left"), side("top"), side("right"), side("bottom")}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2]),
            static_cast<float>(values[3])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const auto inside = x >= a.integer_coefficient(0) && y >= a.integer_coefficient(1) &&
                        x < a.integer_coefficient(2) && y < a.integer_coefficient(3);
    return a.when(inside, [&] { return a.input(1, x, y); }, [&] { return a.input(0, x, y); });
  }
};

}  // namespace millrace::image::filters
