#pragma once

#include "millrace/image/filters/row_extreme.h"

namespace millrace::image::filters {

// The part of morphology that works along columns: see RowExtreme.
struct ColumnExtreme : SameSize {
  static constexpr Access access = Access::window;

  static Filter about() {
    Filter filter = RowExtreme::about();
    filter.name = "column_extreme";
    filter.summary = "the least or greatest along columns";
    return filter;
  }

  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    return RowExtreme::coefficients(input, values);
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const int radius = static_cast<int>(k[1]);
    return {output.x0, output.y0 - radius, output.x1, output.y1 + radius};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(1);
    const Float sign = a.coefficient(0);
    const Float first = sign * a.input(0, x, a.replicate_y(y - radius));
    return sign * a.fold(2 * radius, first, [&](const Float& least, const Int& i) {
      return A::lesser(least, sign * a.input(0, x, a.replicate_y(y + i + 1 - radius)));
    });
  }
};

}  // namespace millrace::image::filters
