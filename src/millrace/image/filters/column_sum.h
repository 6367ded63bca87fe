#pragma once

#include "millrace/image/filters/row_sum.h"

namespace millrace::image::filters {

// The part of separable windows that works along columns: see RowSum.
struct ColumnSum : SameSize {
  static constexpr Access access = Access::window;

  static Filter about() {
    Filter filter = RowSum::about();
    filter.name = "column_sum";
    filter.summary = "a window along columns";
    return filter;
  }

  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    return RowSum::coefficients(input, values);
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const int radius = static_cast<int>(k[0]);
    return {output.x0, output.y0 - radius, output.x1, output.y1 + radius};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(0);
    return sum(a, 2 * radius + 1,
               [&](const Int& i) { return a.table(i) * a.input(0, x, a.replicate_y(y + i - radius)); });
  }
};

}  // namespace millrace::image::filters
