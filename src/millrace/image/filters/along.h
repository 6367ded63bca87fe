// Shared by windows along rows or along columns.
#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

enum class Axis { rows, columns };

template <Axis axis> struct Along : SameSize {
  static constexpr Access access = Access::window;

  // The pixels read by a window that reaches `radius` pixels to both sides.
  static Rect reach(const Rect& output, int radius) {
    if constexpr (axis == Axis::rows)
      return {output.x0 - radius, output.y0, output.x1 + radius, output.y1};
    else
      return {output.x0, output.y0 - radius, output.x1, output.y1 + radius};
  }

  // The pixel `distance` further along the axis from (x, y), edges replicated.
  template <class A>
  static typename A::Float behind(A& a, const typename A::Int& x, const typename A::Int& y,
                                  const typename A::Int& distance) {
    if constexpr (axis == Axis::rows)
      return a.input(0, a.replicate_x(x + distance), y);
    else
      return a.input(0, x, a.replicate_y(y + distance));
  }
};

}  // namespace millrace::image::filters
