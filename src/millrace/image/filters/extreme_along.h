#pragma once

#include "millrace/image/filters/along.h"

#include <string_view>

namespace millrace::image::filters {

// A part of morphology: the minimum or maximum of the pixels within a radius along one axis.
template <Axis axis> struct ExtremeAlong : Along<axis> {
  static Filter named(std::string_view name, std::string_view summary) {
    return {.name = name,
            .summary = summary,
            .parameters = {{.name = "sign", .type = ParameterType::integer, .minimum = -1, .maximum = 1},
                           {.name = "radius", .type = ParameterType::integer, .minimum = 0, .maximum = 50}}};
  }

  // 0: 1 for the minimum, -1 for the maximum; 1: radius
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {values[0] < 0 ? -1.0F : 1.0F, static_cast<float>(values[1])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return Along<axis>::reach(output, static_cast<int>(k[1]));
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(1);
    const auto least = a.coefficient(0) > 0.0F;
    const Float first = Along<axis>::behind(a, x, y, 0 - radius);
    return a.fold(2 * radius, first, [&](const Float& extreme, const Int& i) {
      const Float v = Along<axis>::behind(a, x, y, i + 1 - radius);
      return a.when(least, [&] { return A::lesser(extreme, v); }, [&] { return A::greater(extreme, v); });
    });
  }
};

}  // namespace millrace::image::filters
