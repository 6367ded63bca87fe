#pragma once

#include "millrace/image/filters/moved_input.h"

namespace millrace::image::filters {

// A border of one value around the frame. Its widths are in luma samples, rounded down to whole chroma
// samples.
struct Pad : MovedInput {
  static constexpr Access access = Access::stencil;
  static constexpr int longest = 32768;

  static Filter about() {
    const auto side = [](std::string_view name) {
      return Parameter{.name = name,
                       .summary = "how much is added there",
                       .unit = "pixels",
                       .type = ParameterType::integer,
                       .minimum = 0,
                       .maximum = 8192};
    };
    return {.name = "pad",
            .summary = "add a border around the frame",
            .geometric = true,
            .kind = SimpleFilter{.value_coefficient = 2},
            .parameters = {side("left"),
                           side("top"),
                           side("right"),
                           side("bottom"),
                           {.name = "luma",
                            .summary = "the border's; its chroma is gray",
                            .minimum = 0,
                            .maximum = 1,
                            .required = false}}};
  }

  static int whole_samples(double luma, int step) { return static_cast<int>(luma) / step * step; }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    PlaneGeometry result = input;
    result.luma.width +=
        whole_samples(values[0], input.frame_step_x) + whole_samples(values[2], input.frame_step_x);
    result.luma.height +=
        whole_samples(values[1], input.frame_step_y) + whole_samples(values[3], input.frame_step_y);
    if (result.luma.width > longest || result.luma.height > longest) {
      return usage_error("pad: the frame would become {}x{}; {} is the most of either", result.luma.width,
                         result.luma.height, longest);
    }
    result.size = {(result.luma.width + input.step_x - 1) / input.step_x,
                   (result.luma.height + input.step_y - 1) / input.step_y};
    return result;
  }

  // 0, 1: origin of the frame in pixels of this plane; 2: the border's value
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    const bool is_chroma = input.gray > 0;
    return {static_cast<float>(whole_samples(values[0], input.frame_step_x) / input.step_x),
            static_cast<float>(whole_samples(values[1], input.frame_step_y) / input.step_y),
            is_chroma ? input.gray : static_cast<float>(values[4])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    using Int = typename A::Int;
    const Int from_x = x - a.integer_coefficient(0);
    const Int from_y = y - a.integer_coefficient(1);
    const auto inside = from_x >= 0 && from_x < a.width() && from_y >= 0 && from_y < a.height();
    const Float nearest = a.input(0, a.replicate_x(from_x), a.replicate_y(from_y));
    return a.when(inside, [&] { return nearest; }, [&] { return Float(a.value(2)); });
  }
};

}  // namespace millrace::image::filters
