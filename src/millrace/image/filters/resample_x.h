#pragma once

#include "millrace/image/filters/code_resampling.h"
#include "millrace/image/filters/resampling.h"

#include <optional>

namespace millrace::image::filters {

// The part of `resize` that changes the width.
struct ResampleX {
  static constexpr Access access = Access::window;
  static constexpr std::string_view first_on_codes = "resample_x_8_first";
  static constexpr std::string_view last_on_codes = "resample_x_8_last";

  static Filter about() {
    return {.name = "resample_x",
            .summary = "another width",
            .geometric = true,
            .kind = SimpleFilter{.has_table = true},
            .parameters = resampling_parameters()};
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    PlaneGeometry result = input;
    reshape(result.aspect_numerator, result.aspect_denominator, input.luma.width,
            static_cast<int>(values[1]));
    result.size.width = static_cast<int>(values[0]);
    result.luma.width = static_cast<int>(values[1]);
    return result;
  }

  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    return Resampling(static_cast<ResamplingKernel>(values[2]), input.size.width, values[3])
        .coefficients(static_cast<int>(values[0]), values[4] == 0);
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const auto [begin, end] = Resampling::range(output.x0, output.x1, k);
    return {begin, output.y0, end, output.y1};
  }

  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    return CodeResampling::codes(first_on_codes, last_on_codes, k, maximum);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int first = Resampling::first_tap_of(a, x);
    return sum(a, a.integer_coefficient(0), [&](const Int& t) {
      return a.table(t * a.integer_coefficient(4) + x) * a.input(0, a.promise_x(0, first + t), y);
    });
  }
};

}  // namespace millrace::image::filters
