#pragma once

#include "millrace/image/filters/along.h"
#include "millrace/image/filters/code_box.h"
#include "millrace/image/filters/named_filters.h"

#include <optional>

namespace millrace::image::filters {

// The first part of `box`: the sum of the pixels of a row within a radius, from left to right.
struct BoxRows : Along<Axis::rows> {
  static Filter about() {
    return {.name = "box_rows", .summary = "sums along rows", .parameters = box_parameters()};
  }

  // 0: radius; 1: number of pixels in the box
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return reach(output, static_cast<int>(k[0]));
  }

  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    if (!box_of_codes(k, maximum)) return {};
    return CodeFilter{
        .filter = find_simple_filter(CodeBoxRows::about().name), .coefficients = {k[0]}, .rounds = false};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(0);
    return sum(a, 2 * radius + 1, [&](const Int& i) { return behind(a, x, y, i - radius); });
  }
};

}  // namespace millrace::image::filters
