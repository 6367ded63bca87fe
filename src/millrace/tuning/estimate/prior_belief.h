// How far the caller's guesses are believed before anything was measured.
#pragma once

#include <cmath>

namespace millrace::tuning {

// Log cost of one candidate relative to another's, by their guesses (> 0): of the difference half is
// believed, as in the cost model.
[[nodiscard]] inline double believed_log_ratio(double guess, double other) {
  constexpr double prior_belief = 0.5;
  return prior_belief * std::log(guess / other);
}

// Below minus this a log ratio is a clear advantage, of what a profile does not know.
inline constexpr double clearly_better = 0.05;

}  // namespace millrace::tuning
