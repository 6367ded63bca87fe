#pragma once

#include "millrace/image/filters/code_extremes.h"
#include "millrace/image/filters/defaults.h"

#include <optional>

namespace millrace::image::filters {

// |v - w| of two inputs.
struct AbsoluteDifference : ValueFunction, NoCoefficients {
  static Filter about() {
    return {.name = "absolute_difference", .summary = "how far two inputs are apart", .inputs = 2};
  }

  static std::optional<CodeFilter> codes(const Coefficients& /*k*/, int maximum) {
    return extremes_of_codes(1, -1, maximum);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const typename A::Float v = a.input(0, x, y);
    const typename A::Float w = a.input(1, x, y);
    return A::greater(v - w, w - v);
  }
};

}  // namespace millrace::image::filters
