// Paired gains: what one plan brings over another, from measurements that took turns.
#pragma once

#include "millrace/base/student_t.h"

#include <span>

namespace millrace::placement {

// Of log ratios of rates (candidate / untouched): mean and its confidence interval.
struct GainEstimate {
  double mean = 0;
  double low = 0;
  double high = 0;
  int pairs = 0;
};

// The mean of the pairs, each bounded to within three median absolute deviations of their median (Huber 1964:
// one disturbed window must not decide), and a two-sided interval by Student's t with pairs - 1 degrees of
// freedom from their scatter about it. With one pair the interval is without bounds; so it is with none.
[[nodiscard]] GainEstimate estimate_gain(std::span<const double> log_ratios, Confidence confidence);

}  // namespace millrace::placement
