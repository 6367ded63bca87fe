#pragma once

#include "millrace/image/filters/code_rows.h"
#include "millrace/image/filters/moved_row.h"
#include "millrace/image/filters/named_filters.h"

#include <cmath>
#include <optional>

namespace millrace::image::filters {

// The part of `deinterlace` that also uses the previous and next frame. Rows of one field are kept;
// moved_row.h reconstructs those between.
struct MovingRows : SameSize {
  static constexpr Access access = Access::window;
  // Straight unless a slope is clearly better: by 2 code values at 8 bits, as in FFmpeg.
  static constexpr float slack = 1.5F / 255.0F;

  static Filter about() {
    return {.name = "moving_rows",
            .summary = "the rows of one field, and between them what moves with the picture",
            .inputs = 3,
            .parameters = {{.name = "field", .type = ParameterType::integer, .minimum = 0, .maximum = 1}}};
  }

  // 0: the first row that is kept
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return moved_row_footprint(output);
  }

  // Differences of codes are integers: one exceeds the slack if it exceeds the slack's floor.
  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    const float codes_of_slack = std::floor(1.5F * static_cast<float>(maximum) / 255.0F);
    return CodeFilter{.filter = find_simple_filter(maximum > 255 ? CodeMovingRows<ElementType::u16>::name
                                                                 : CodeMovingRows<ElementType::u8>::name),
                      .coefficients = {k[0], codes_of_slack, static_cast<float>(maximum)}};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    return a.when_row(
        y % 2 == a.integer_coefficient(0), [&] { return a.input(1, x, y); },
        [&] {
          const auto same = [](const Float& v) -> Float { return v; };
          return moved_row_twice(a, x, y, same, Float(slack)) * 0.5F;
        });
  }
};

}  // namespace millrace::image::filters
