#pragma once

#include <vector>

namespace millrace::model {

// Stationary probabilities p_0..p_N of a birth-death chain with p_n = p_{n-1} * ratios[n-1]. The ratios
// (birth rate / death rate) are >= 0 and do not increase with n, as in every M/M queue; then p has one mode,
// and the sum goes outwards from it: positive terms of at most 1, no factorials, no overflow, for any size.
[[nodiscard]] std::vector<double> stationary_probabilities(const std::vector<double>& ratios);

// The same weights with 1 at the mode, not yet divided by their sum.
[[nodiscard]] std::vector<double> weights_from_mode(const std::vector<double>& ratios);

}  // namespace millrace::model
