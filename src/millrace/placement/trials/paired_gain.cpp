#include "millrace/placement/trials/paired_gain.h"

#include "millrace/base/numbers/median.h"
#include "millrace/base/numbers/student_t.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace millrace::placement {

GainEstimate estimate_gain(std::span<const double> log_ratios, Confidence confidence) {
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  const auto pairs = static_cast<int>(log_ratios.size());
  if (pairs == 0) return {0, -unbounded, unbounded, 0};
  if (pairs == 1) return {log_ratios[0], -unbounded, unbounded, 1};

  std::vector<double> values(log_ratios.begin(), log_ratios.end());
  const double center = median(values);
  std::vector<double> deviations;
  for (const double value : values)
    deviations.push_back(std::abs(value - center));
  constexpr double deviation_of_normal = 1.4826;  // standard deviation / median absolute deviation
  const double bound = 3 * deviation_of_normal * median(deviations);
  // With two or three values, none is an outlier.
  if (pairs > 3 && bound > 0)
    for (double& value : values)
      value = std::clamp(value, center - bound, center + bound);

  double mean = 0;
  for (const double value : values)
    mean += value / pairs;
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / (pairs - 1) / pairs);
  const double reach = student_t(pairs - 1, confidence) * error;
  return {mean, mean - reach, mean + reach, pairs};
}

}  // namespace millrace::placement
