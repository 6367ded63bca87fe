// The cheapest way to put everybody into pairs.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace millrace::model {

// Of 0 to count - 1, an even number, every one in one pair; the sum of `cost` is the least there is (maximum
// weighted perfect matching by LEMON, on costs rounded to a millionth of the greatest). cost is symmetric,
// finite and not negative. Cubic in count.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>>
cheapest_pairs(std::size_t count, const std::function<double(std::size_t, std::size_t)>& cost);

}  // namespace millrace::model
