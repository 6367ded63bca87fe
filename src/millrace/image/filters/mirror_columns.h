#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// Mirrors left and right: (width-1-x, y). Each plane is mirrored about its own centre.
struct MirrorColumns : SameSize {
  static constexpr Access access = Access::pointwise;

  static Filter about() {
    return {.name = "mirror_columns", .summary = "left becomes right", .geometric = true};
  }

  // 0: the last column
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& /*values*/) {
    return {static_cast<float>(input.size.width - 1)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& input, const Coefficients& /*c*/) {
    return {input.size.width - output.x1, output.y0, input.size.width - output.x0, output.y1};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.input(0, a.integer_coefficient(0) - x, y);
  }
};

}  // namespace millrace::image::filters
