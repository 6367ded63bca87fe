#pragma once

#include "millrace/image/filters/defaults.h"

#include <utility>

namespace millrace::image::filters {

// Columns become rows: (y, x).
struct SwapAxes : NoCoefficients {
  static constexpr Access access = Access::gather;

  static Filter about() { return {.name = "swap_axes", .summary = "columns become rows", .geometric = true}; }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& /*values*/) {
    if (input.frame_step_x != input.frame_step_y) {
      return usage_error("transpose: chroma of 4:2:2 would have to become 4:4:0, which is not written here; "
                         "convert the video to 4:2:0 or 4:4:4 first");
    }
    PlaneGeometry result = input;
    std::swap(result.size.width, result.size.height);
    std::swap(result.luma.width, result.luma.height);
    if (result.aspect_numerator > 0) std::swap(result.aspect_numerator, result.aspect_denominator);
    return result;
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return {output.y0, output.x0, output.y1, output.x1};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.input(0, a.promise_x(0, y), a.promise_y(0, x));
  }
};

}  // namespace millrace::image::filters
