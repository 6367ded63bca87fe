#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// The part of morphology that works along rows: the least of sign*v over pixels up to a radius away, times
// sign.
struct RowExtreme : SameSize {
  static constexpr Access access = Access::window;

  static Filter about() {
    return {.name = "row_extreme",
            .summary = "the least or greatest along rows",
            .parameters = {{.name = "sign", .type = ParameterType::integer, .minimum = -1, .maximum = 1},
                           {.name = "radius", .type = ParameterType::integer, .minimum = 0, .maximum = 50}}};
  }

  // 0: 1 for the least, -1 for the greatest, 1: the radius
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {values[0] < 0 ? -1.0F : 1.0F, static_cast<float>(values[1])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const int radius = static_cast<int>(k[1]);
    return {output.x0 - radius, output.y0, output.x1 + radius, output.y1};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(1);
    const Float sign = a.coefficient(0);
    const Float first = sign * a.input(0, a.replicate_x(x - radius), y);
    return sign * a.fold(2 * radius, first, [&](const Float& least, const Int& i) {
      return A::lesser(least, sign * a.input(0, a.replicate_x(x + i + 1 - radius), y));
    });
  }
};

}  // namespace millrace::image::filters
