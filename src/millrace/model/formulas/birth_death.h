#pragma once

#include <vector>

namespace millrace::model {

// Stationary probabilities p_0..p_N of a birth-death chain with p_n = p_{n-1} * ratios[n-1]. The ratios
// (birth rate / death rate) must be >= 0 and must not increase with n, as in every M/M queue. Then p has a
// single mode, and the sum proceeds outwards from it. All terms are positive and at most 1, without
// factorials, so no size overflows.
[[nodiscard]] std::vector<double> stationary_probabilities(const std::vector<double>& ratios);

// The same weights with 1 at the mode, before normalisation.
[[nodiscard]] std::vector<double> weights_from_mode(const std::vector<double>& ratios);

}  // namespace millrace::model
