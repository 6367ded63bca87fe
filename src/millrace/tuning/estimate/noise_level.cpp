#include "millrace/tuning/estimate/noise_level.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {

void NoiseLevel::add(double log_cost) {
  if (has_last_) {
    constexpr double median_of_difference = 0.6745 * 1.4142;
    const double difference = std::abs(log_cost - last_) / median_of_difference;
    // Large steps until the level is found.
    const double gain = std::max(0.02, 0.25 / (1 + 0.1 * seen_));
    sigma_ = std::clamp(sigma_ * (difference > sigma_ ? 1 + gain : 1 / (1 + gain)), min, max);
    seen_ = std::min(seen_ + 1, 1000);
  }
  last_ = log_cost;
  has_last_ = true;
}

}  // namespace millrace::tuning
