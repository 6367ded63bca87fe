#pragma once

#include "millrace/image/filters/crop.h"

namespace millrace::image::filters {

// A rectangle of the frame, given in luma samples, each rounded down to whole chroma samples of the frame.
struct CropAt {
  static constexpr Access access = Access::pointwise;

  static Filter about() {
    const auto length = [](std::string_view name, std::string_view summary, double minimum) {
      return Parameter{.name = name,
                       .summary = summary,
                       .unit = "pixels",
                       .type = ParameterType::integer,
                       .minimum = minimum,
                       .maximum = 32768};
    };
    return {.name = "crop_at",
            .summary = "keep a part of the frame",
            .geometric = true,
            .parameters = {length("x", "what is left out on the left", 0),
                           length("y", "what is left out at the top", 0),
                           length("width", "of what is kept", 1), length("height", "of what is kept", 1)}};
  }

  static int whole_samples(double luma, int step) { return static_cast<int>(luma) / step * step; }

  // An odd edge of the frame can be kept.
  static int kept(double offset, double wanted, int frame, int step) {
    const int end = static_cast<int>(offset) + static_cast<int>(wanted);
    return end == frame ? frame - whole_samples(offset, step) : whole_samples(wanted, step);
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    const Size kept_size{kept(values[0], values[2], input.luma.width, input.frame_step_x),
                         kept(values[1], values[3], input.luma.height, input.frame_step_y)};
    if (values[0] + values[2] > input.luma.width || values[1] + values[3] > input.luma.height ||
        kept_size.pixels() == 0) {
      return usage_error("crop_at({}, {}, {}, {}): lies outside a {}x{} frame{}", values[0], values[1],
                         values[2], values[3], input.luma.width, input.luma.height,
                         kept_size.pixels() == 0 ? " with whole chroma samples" : "");
    }
    PlaneGeometry result = input;
    result.luma = kept_size;
    result.size = {(kept_size.width + input.step_x - 1) / input.step_x,
                   (kept_size.height + input.step_y - 1) / input.step_y};
    return result;
  }

  // 0, 1: offset in pixels of this plane
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    return {static_cast<float>(whole_samples(values[0], input.frame_step_x) / input.step_x),
            static_cast<float>(whole_samples(values[1], input.frame_step_y) / input.step_y)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& input, const Coefficients& k) {
    return Crop::footprint(output, input, k);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return Crop::pixel(a, x, y);
  }
};

}  // namespace millrace::image::filters
