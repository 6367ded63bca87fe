#pragma once

#include "millrace/image/filters/code_rows.h"
#include "millrace/image/filters/mirrored_row.h"
#include "millrace/image/filters/named_filters.h"

#include <optional>

namespace millrace::image::filters {

// The part of `deinterlace` that uses one frame. Rows of one field are kept, and rows between them are the
// means of the rows above and below.
struct FieldRows : SameSize {
  static constexpr Access access = Access::stencil;

  static Filter about() {
    return {.name = "field_rows",
            .summary = "the rows of one field, and means between them",
            .parameters = {{.name = "field", .type = ParameterType::integer, .minimum = 0, .maximum = 1}}};
  }

  // 0: the first row that is kept
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return {output.x0, output.y0 - 1, output.x1, output.y1 + 1};
  }

  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    return CodeFilter{.filter = find_simple_filter(maximum > 255 ? CodeFieldRows<ElementType::u16>::name
                                                                 : CodeFieldRows<ElementType::u8>::name),
                      .coefficients = k};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.when_row(
        y % 2 == a.integer_coefficient(0), [&] { return a.input(0, x, y); },
        [&] {
          return (a.input(0, x, mirrored_row(a, y - 1)) + a.input(0, x, mirrored_row(a, y + 1))) * 0.5F;
        });
  }
};

}  // namespace millrace::image::filters
