// Paired gains: how much faster one plan is than another, from measurements that took turns.
#pragma once

#include "millrace/base/numbers/student_t.h"

#include <span>

namespace millrace::placement {

// Mean of the log ratios of rates (candidate / untouched), with its confidence interval.
struct GainEstimate {
  double mean = 0;
  double low = 0;
  double high = 0;
  int pairs = 0;
};

// Returns the mean of the pairs and a two-sided interval by Student's t with pairs - 1 degrees of freedom.
// Each value is first limited to three median absolute deviations from the median (Huber 1964), so that one
// disturbed window cannot decide. With one pair or none the interval is infinite.
[[nodiscard]] GainEstimate estimate_gain(std::span<const double> log_ratios, Confidence confidence);

}  // namespace millrace::placement
