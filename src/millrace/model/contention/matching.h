// Finds the cheapest way to form pairs.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace millrace::model {

// Pairs the numbers 0 to count - 1 (count must be even) with the least sum of `cost`. Uses LEMON's maximum
// weighted perfect matching on costs rounded to a millionth of the greatest. cost must be symmetric, finite
// and not negative. Cubic in count.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>>
cheapest_pairs(std::size_t count, const std::function<double(std::size_t, std::size_t)>& cost);

}  // namespace millrace::model
