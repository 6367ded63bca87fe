#include "millrace/placement/trials/paired_gain.h"

#include "millrace/base/median.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace millrace::placement {
namespace {

// Two-sided quantiles of Student's t for 1, 2, ... degrees of freedom; any table of it has them.
constexpr std::array t90 = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
                            1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725};
constexpr std::array t95 = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                            2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
constexpr std::array t99 = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
                            3.106,  3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845};

double quantile(std::size_t degrees, Confidence confidence) {
  // Beyond the table the last entry is used: a little wide, never too narrow.
  const std::size_t index = std::min(degrees, t95.size()) - 1;
  switch (confidence) {
  case Confidence::p90:
    return t90[index];
  case Confidence::p95:
    return t95[index];
  case Confidence::p99:
    break;
  }
  return t99[index];
}

}  // namespace

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
  // Of two or three values none can be told from the others.
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
  const double reach = quantile(static_cast<std::size_t>(pairs - 1), confidence) * error;
  return {mean, mean - reach, mean + reach, pairs};
}

}  // namespace millrace::placement
