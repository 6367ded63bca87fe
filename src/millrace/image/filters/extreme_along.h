#pragma once

#include "millrace/image/filters/along.h"

#include <string_view>

namespace millrace::image::filters {

// A part of morphology: the least of sign*v over pixels up to a radius away, times sign.
template <Axis axis> struct ExtremeAlong : Along<axis> {
  static Filter named(std::string_view name, std::string_view summary) {
    return {.name = name,
            .summary = summary,
            .parameters = {{.name = "sign", .type = ParameterType::integer, .minimum = -1, .maximum = 1},
                           {.name = "radius", .type = ParameterType::integer, .minimum = 0, .maximum = 50}}};
  }

  // 0: 1 for the least, -1 for the greatest, 1: the radius
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
    const Float sign = a.coefficient(0);
    const Float first = sign * Along<axis>::behind(a, x, y, 0 - radius);
    return sign * a.fold(2 * radius, first, [&](const Float& least, const Int& i) {
      return A::lesser(least, sign * Along<axis>::behind(a, x, y, i + 1 - radius));
    });
  }
};

}  // namespace millrace::image::filters
