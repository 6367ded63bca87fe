#include "millrace/pool/wake_placement.h"

#include <algorithm>

namespace millrace::pool {

bool WakePlacement::sleeps_apart(bool beside) {
  beside_ = beside ? beside_ + 1 : 0;
  if (beside_ >= patience * hold_ || pulled_ >= hold_) apart_ = true;
  return apart_;
}

void WakePlacement::woken(bool pulled, std::int64_t took_ns) {
  if (!apart_) {
    pulled_ += pulled ? 1 : 0;
  } else if (took_ns > slow_ns && slow_ > 0) {
    preempted();
  } else {
    if (took_ns > slow_ns)
      slow_ = slow_weight;
    else if (took_ns > 0)
      slow_ = std::max(0, slow_ - 1);
    if (++alone_ >= forgotten_after) hold_ = 1;
  }
}

void WakePlacement::preempted() {
  apart_ = false;
  beside_ = pulled_ = alone_ = slow_ = 0;
  hold_ = std::min(hold_ * hold_factor, most_hold);
}

}  // namespace millrace::pool
