#pragma once

#include "millrace/image/filters/defaults.h"

#include <cmath>

namespace millrace::image::filters {

// The centre of the frame. Size and offset are rounded down to whole chroma samples of the frame, so that all
// planes show the same part. A crop that keeps everything also keeps odd edges.
struct Crop {
  static constexpr Access access = Access::pointwise;

  static Filter about() {
    return {.name = "crop",
            .summary = "keep the centred part of the frame",
            .geometric = true,
            .parameters = {{.name = "fraction",
                            .summary = "of width and height that is kept",
                            .minimum = 0.001,
                            .maximum = 1}}};
  }

  static int kept(int size, double fraction, int step) {
    const int wanted =
        static_cast<int>(std::floor(size * fraction + 1e-9));  // 0.8 * 1080 is 864, not 863.99...
    return wanted == size ? size : wanted - wanted % step;
  }

  static int offset(int size, int kept_size, int step) {
    const int half = (size - kept_size) / 2;
    return half - half % step;
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    const Size luma{kept(input.luma.width, values[0], input.frame_step_x),
                    kept(input.luma.height, values[0], input.frame_step_y)};
    if (luma.pixels() == 0) {
      return usage_error("crop({}): nothing is left of a {}x{} frame; use a larger fraction", values[0],
                         input.luma.width, input.luma.height);
    }
    PlaneGeometry result = input;
    result.luma = luma;
    result.size = {(luma.width + input.step_x - 1) / input.step_x,
                   (luma.height + input.step_y - 1) / input.step_y};
    return result;
  }

  // 0, 1: offset in pixels of this plane
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    const int x =
        offset(input.luma.width, kept(input.luma.width, values[0], input.frame_step_x), input.frame_step_x);
    const int y =
        offset(input.luma.height, kept(input.luma.height, values[0], input.frame_step_y), input.frame_step_y);
    const int plane_x = x / input.step_x;  // exact: the offset is whole chroma samples
    const int plane_y = y / input.step_y;
    return {static_cast<float>(plane_x), static_cast<float>(plane_y)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return shifted(output, static_cast<int>(k[0]), static_cast<int>(k[1]));
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.input(0, x + a.integer_coefficient(0), y + a.integer_coefficient(1));
  }
};

}  // namespace millrace::image::filters
