// Means of repeated measurements, and their uncertainty.
#pragma once

#include <span>

namespace millrace::report {

// A mean and its 95 % confidence interval by Student's t. All finite.
struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
  // Whether the interval is meaningful. With one measurement there is none, and low and high are the mean.
  // With two or three that differ much, it would reach from zero to very large numbers. Then low and high are
  // clamped: to a tenth and ten times a ratio, or to 0 and twice any other mean.
  bool known = true;
};

// For non-negative measurements.
[[nodiscard]] MeanInterval mean_interval(std::span<const double> values);

// The geometric mean of dividend / divisor, paired by round (placement::estimate_gain). Slowdowns that affect
// both cancel out, and a disturbance of a single round does not dominate. Both need the same number of
// values, all above 0.
[[nodiscard]] MeanInterval ratio_interval(std::span<const double> dividends,
                                          std::span<const double> divisors);

}  // namespace millrace::report
