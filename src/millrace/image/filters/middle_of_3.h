#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/median_of.h"

namespace millrace::image::filters {

// The median of 3 inputs.
struct MiddleOf3 : Pointwise, NoCoefficients {
  static Filter about() { return {.name = "middle_of_3", .summary = "the median of 3 inputs", .inputs = 3}; }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    std::array<typename A::Float, 3> values;
    for (int k = 0; k < 3; ++k)
      values[k] = a.input(k, x, y);
    return median_of<A>(values);
  }
};

}  // namespace millrace::image::filters
