// The parts of `deinterlace` on codes, to the nearest code, halves up.
#pragma once

#include "millrace/image/filters/moved_row.h"

namespace millrace::image::filters {

template <ElementType type> struct CodeFieldRows : SameSize {
  static constexpr Access access = Access::stencil;
  static constexpr std::string_view name = type == ElementType::u8 ? "field_rows_8" : "field_rows_16";

  static Filter about() {
    return {.name = name,
            .summary = "the rows of one field, and means of codes between them",
            .kind = SimpleFilter{.input_type = type, .output_type = type},
            .parameters = {{.name = "field", .type = ParameterType::integer, .minimum = 0, .maximum = 1}}};
  }

  // 0: the first row that is kept
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return {output.x0, output.y0 - 1, output.x1, output.y1 + 1};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    return a.when_row(
        y % 2 == a.integer_coefficient(0), [&] { return a.wide(a.input(0, x, y)); },
        [&] {
          const Float above = a.wide(a.input(0, x, mirrored_row(a, y - 1)));
          const Float below = a.wide(a.input(0, x, mirrored_row(a, y + 1)));
          return A::halved((above + below) + 1);
        });
  }
};

template <ElementType type> struct CodeMovingRows : SameSize {
  static constexpr Access access = Access::window;
  static constexpr std::string_view name = type == ElementType::u8 ? "moving_rows_8" : "moving_rows_16";

  static Filter about() {
    return {.name = name,
            .summary = "the rows of one field, and between them codes that move with the picture",
            .inputs = 3,
            .kind = SimpleFilter{.input_type = type, .output_type = type},
            .parameters = {{.name = "field", .type = ParameterType::integer, .minimum = 0, .maximum = 1},
                           {.name = "slack", .type = ParameterType::integer, .maximum = 385},
                           {.name = "maximum", .type = ParameterType::integer, .maximum = 65535}}};
  }

  // 0: the first row that is kept; 1: by how many codes a slope must be better; 2: the largest code; 3: 0
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return moved_row_footprint(output);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const auto number = [&](const Float& v) -> Float { return a.wide(v); };
    return a.when_row(
        y % 2 == a.integer_coefficient(0), [&] { return number(a.input(1, x, y)); },
        [&] {
          const Float moved = A::halved(moved_row_twice(a, x, y, number, a.whole(1)) + 1);
          return A::greater(A::lesser(moved, a.whole(2)), a.whole(3));
        });
  }
};

}  // namespace millrace::image::filters
