#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// Multiplies chroma's distance from gray by a factor.
struct Saturate : ValueFunction {
  static Filter about() {
    return {.name = "saturate",
            .summary = "colours stronger or weaker: gray + factor*(v - gray) of chroma; luma passes",
            .luma_passes = true,
            .parameters = {
                {.name = "factor", .summary = "0: none, 1: as they are", .minimum = 0, .maximum = 16}}};
  }

  // 0: gray; 1: the factor
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    return {input.gray, static_cast<float>(values[0])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.coefficient(0) + a.coefficient(1) * (a.input(0, x, y) - a.coefficient(0));
  }
};

}  // namespace millrace::image::filters
