// Functions of a pixel's value that are tabulated once, such as powers, whose bits would else differ from one
// C library to another.
#pragma once

#include "millrace/image/filters/defaults.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace millrace::image::filters {

// How finely. The entries lie evenly by the square root of the value, closest together near black, where
// powers bend most: between entries a power from 0.1 to 10 is met to 2/65535 at every code value of 16 bits.
inline constexpr int lookup_intervals = 4096;

// The table of a function from [0,1] to floats.
template <class Function> std::vector<float> tabulated(Function&& function) {
  std::vector<float> table;
  table.reserve(lookup_intervals + 2);
  for (int i = 0; i <= lookup_intervals; ++i) {
    const double root = static_cast<double>(i) / lookup_intervals;
    table.push_back(static_cast<float>(function(root * root)));
  }
  table.push_back(table.back());  // of weight 0, where the value is 1
  return table;
}

// The function whose table the stage has, of a value clamped to [0,1], linear between entries.
template <class A> typename A::Float looked_up(A& a, const typename A::Float& value) {
  using Float = typename A::Float;
  const Float place = A::sqrt(A::clamp(value, 0.0F, 1.0F)) * static_cast<float>(lookup_intervals);
  const Float below = A::floor(place);
  const typename A::Int entry = A::floor_int(place);
  const Float left = a.table(entry);
  return left + (place - below) * (a.table(entry + 1) - left);
}

}  // namespace millrace::image::filters
