#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// Mirrors top and bottom: (x, height-1-y). Each plane is mirrored about its own centre.
struct MirrorRows : SameSize {
  static constexpr Access access = Access::pointwise;

  static Filter about() { return {.name = "mirror_rows", .summary = "upside down", .geometric = true}; }

  // 0: the last row
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& /*values*/) {
    return {static_cast<float>(input.size.height - 1)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& input, const Coefficients& /*c*/) {
    return {output.x0, input.size.height - output.y1, output.x1, input.size.height - output.y0};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.input(0, x, a.integer_coefficient(0) - y);
  }
};

}  // namespace millrace::image::filters
