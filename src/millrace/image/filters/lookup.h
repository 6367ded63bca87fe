// Tabulates functions of a pixel's value once. Powers, for example, would otherwise differ in their last bits
// between C libraries.
#pragma once

#include "millrace/image/filters/defaults.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace millrace::image::filters {

// Number of intervals. Entries are evenly spaced in the square root of the value, so that they are densest
// near black, where powers bend most. Linear interpolation between entries gives powers from 0.1 to 10 to
// within 2/65535 at every 16-bit code value.
inline constexpr int lookup_intervals = 4096;

// Tabulates a function from [0,1] to floats.
template <class Function> std::vector<float> tabulated(Function&& function) {
  std::vector<float> table;
  table.reserve(lookup_intervals + 2);
  for (int i = 0; i <= lookup_intervals; ++i) {
    const double root = static_cast<double>(i) / lookup_intervals;
    table.push_back(static_cast<float>(function(root * root)));
  }
  table.push_back(table.back());  // has weight 0; read if the value is 1
  return table;
}

// Applies the function tabulated in the stage's table to a value, clamped to [0,1], by linear interpolation.
template <class A> typename A::Float looked_up(A& a, const typename A::Float& value) {
  using Float = typename A::Float;
  const Float place = A::sqrt(A::clamp(value, 0.0F, 1.0F)) * static_cast<float>(lookup_intervals);
  const Float below = A::floor(place);
  const typename A::Int entry = A::floor_int(place);
  const Float left = a.table(entry);
  return left + (place - below) * (a.table(entry + 1) - left);
}

}  // namespace millrace::image::filters
