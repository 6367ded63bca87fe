// How much weight the caller's guesses have before any measurement.
#pragma once

#include <cmath>

namespace millrace::tuning {

// Expected log cost of one candidate relative to another, from their guesses (> 0). Like the cost model, it
// believes half of the difference.
[[nodiscard]] inline double believed_log_ratio(double guess, double other) {
  constexpr double prior_belief = 0.5;
  return prior_belief * std::log(guess / other);
}

// A log ratio below -clearly_better is a clear advantage for a candidate that the profile does not contain.
inline constexpr double clearly_better = 0.05;

}  // namespace millrace::tuning
