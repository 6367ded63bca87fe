#pragma once

#include "millrace/image/filters/defaults.h"

#include <utility>

namespace millrace::image::filters {

// Transposes: the pixel at (x, y) comes from (y, x), with rows or columns optionally counted from the end.
struct SwapAxes {
  static constexpr Access access = Access::gather;

  static Filter about() {
    const auto from_end = [](std::string_view name) {
      return Parameter{.name = name, .type = ParameterType::integer, .minimum = 0, .maximum = 1};
    };
    return {.name = "swap_axes",
            .summary = "columns become rows",
            .geometric = true,
            .parameters = {from_end("from_last_column"), from_end("from_last_row")}};
  }

  // 0, 1: the column that becomes the first row, and the step to the next: 1, or -1 for leftwards; 2, 3: the
  // same for the row that becomes the first column
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    const bool last_column = values[0] != 0;
    const bool last_row = values[1] != 0;
    return {last_column ? static_cast<float>(input.size.width - 1) : 0.0F, last_column ? -1.0F : 1.0F,
            last_row ? static_cast<float>(input.size.height - 1) : 0.0F, last_row ? -1.0F : 1.0F};
  }

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

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const auto range = [](int begin, int end, float first, float step) -> std::pair<int, int> {
      const int from = static_cast<int>(first);
      return step < 0 ? std::pair(from - end + 1, from - begin + 1) : std::pair(begin, end);
    };
    const auto [x0, x1] = range(output.y0, output.y1, k[0], k[1]);
    const auto [y0, y1] = range(output.x0, output.x1, k[2], k[3]);
    return {x0, y0, x1, y1};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int from_x = a.integer_coefficient(0) + a.integer_coefficient(1) * y;
    const Int from_y = a.integer_coefficient(2) + a.integer_coefficient(3) * x;
    return a.input(0, a.promise_x(0, from_x), a.promise_y(0, from_y));
  }
};

}  // namespace millrace::image::filters
