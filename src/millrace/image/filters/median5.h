#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/median_of_25.h"

namespace millrace::image::filters {

// The median of 5x5 pixels.
struct Median5 : SameSize, NoCoefficients {
  static constexpr Access access = Access::window;

  static Filter about() { return {.name = "median5", .summary = "the median of 5x5 pixels"}; }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return grown(output, 2);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    std::array<typename A::Float, 25> values;
    for (int i = 0; i < 25; ++i)
      values[i] = a.input(0, a.replicate_x(x + i % 5 - 2), a.replicate_y(y + i / 5 - 2));
    return median_of_25<A>(values);
  }
};

}  // namespace millrace::image::filters
