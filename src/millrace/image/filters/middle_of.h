#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/median_of.h"

#include <cstddef>

namespace millrace::image::filters {

// The median of N inputs.
template <std::size_t N> struct MiddleOf : ValueFunction, NoCoefficients {
  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    std::array<typename A::Float, N> values;
    for (std::size_t k = 0; k < N; ++k)
      values[k] = a.input(static_cast<int>(k), x, y);
    return median_of<A>(values);
  }
};

}  // namespace millrace::image::filters
