// Means of repeated measurements, and what they may be off by.
#pragma once

#include <span>

namespace millrace::report {

// A mean and its 95 % confidence interval by Student's t. All finite.
struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
  // Whether the interval says anything. Of one measurement there is none: low and high are the mean. Of two
  // or three that differ much it would reach from nothing to any number: then low and high are bounds of what
  // is worth telling, a tenth and ten times a ratio, 0 and twice another mean.
  bool known = true;
};

// Of measurements that are not negative.
[[nodiscard]] MeanInterval mean_interval(std::span<const double> values);

// The geometric mean of dividend / divisor, turn by turn: what slowed down both is not in it, and what hit a
// single turn does not decide (placement::estimate_gain). As many of the one as of the other, all above 0.
[[nodiscard]] MeanInterval ratio_interval(std::span<const double> dividends,
                                          std::span<const double> divisors);

}  // namespace millrace::report
