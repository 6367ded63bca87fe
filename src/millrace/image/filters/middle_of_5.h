#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/median_of.h"

namespace millrace::image::filters {

// The median of 5 inputs.
struct MiddleOf5 : Pointwise, NoCoefficients {
  static Filter about() { return {.name = "middle_of_5", .summary = "the median of 5 inputs", .inputs = 5}; }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    std::array<typename A::Float, 5> values;
    for (int k = 0; k < 5; ++k)
      values[k] = a.input(k, x, y);
    return median_of<A>(values);
  }
};

}  // namespace millrace::image::filters
