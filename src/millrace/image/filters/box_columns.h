#pragma once

#include "millrace/image/filters/along.h"
#include "millrace/image/filters/code_box.h"
#include "millrace/image/filters/named_filters.h"

#include <optional>

namespace millrace::image::filters {

// The second part of `box`: adds the row sums from the top down and divides by the number of pixels.
struct BoxColumns : Along<Axis::columns> {
  static Filter about() {
    return {.name = "box_columns", .summary = "means of sums, along columns", .parameters = box_parameters()};
  }

  // 0: radius; 1: number of pixels in the box; 2: its reciprocal
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(1 / values[1])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return reach(output, static_cast<int>(k[0]));
  }

  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    if (!box_of_codes(k, maximum)) return {};
    const Divisor by(static_cast<int>(k[1]));
    return CodeFilter{
        .filter = find_simple_filter(CodeBoxColumns::about().name),
        .coefficients = {k[0], k[1], static_cast<float>(by.factor), static_cast<float>(by.shift)}};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(0);
    return sum(a, 2 * radius + 1, [&](const Int& i) { return behind(a, x, y, i - radius); }) *
           a.coefficient(2);
  }
};

}  // namespace millrace::image::filters
