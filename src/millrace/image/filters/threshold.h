#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// Keeps values at or above (below) t and sets the others to 0.
struct Threshold : ValueFunction {
  static Filter about() {
    return {
        .name = "threshold",
        .summary = "keep values at or above (or below) t, set the others to 0",
        .chroma = ChromaDefault::neutral,
        .parameters = {{.name = "t", .summary = "the value to compare with", .minimum = -16, .maximum = 16},
                       {.name = "keep",
                        .summary = "which side of t is kept",
                        .type = ParameterType::choice,
                        .minimum = 0,
                        .maximum = 1,
                        .required = false,
                        .choices = {"above", "below"}}}};
  }

  // For `below`, both sides are negated, so that one comparison serves both.
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const float sign = values[1] == 0 ? 1.0F : -1.0F;
    return {sign * static_cast<float>(values[0]), sign};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    typename A::Float v = a.input(0, x, y);
    return a.when(
        v * a.coefficient(1) >= a.coefficient(0), [&] { return v; }, [] { return typename A::Float(0.0F); });
  }
};

}  // namespace millrace::image::filters
