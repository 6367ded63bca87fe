#pragma once

#include <algorithm>
#include <vector>

namespace millrace {

// The middle value, or the mean of the two middle values. 0 for an empty vector.
[[nodiscard]] inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::ptrdiff_t half = std::ssize(values) / 2;
  std::ranges::nth_element(values, values.begin() + half);
  const double upper = values.begin()[half];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + half) + upper) / 2;
}

}  // namespace millrace
