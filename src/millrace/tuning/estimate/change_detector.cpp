#include "millrace/tuning/estimate/change_detector.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {
namespace {

constexpr double bin_seconds = 0.02;
constexpr std::size_t min_in_bin = 3;
constexpr double allowance = 0.06;  // deviations up to this do not accumulate: about 6 %
constexpr double threshold = 0.4;
constexpr double limit = 0.16;  // of one bin's contribution: a burst of a few bins is not a change
constexpr int calibration_bins = 3;
constexpr double following = 0.05;  // share of the reference that each bin renews

}  // namespace

void ChangeDetector::reset() {
  in_bin_ = 0;
  next_sample_ = 0;
  bins_ = 0;
  up_ = 0;
  down_ = 0;
}

bool ChangeDetector::add(double time, double log_cost) {
  if (in_bin_ == 0) {
    bin_start_ = time;
    next_sample_ = time;
  }
  // With many frames per bin, take an evenly spaced sample.
  if (time >= next_sample_ && in_bin_ < bin_capacity) {
    bin_[in_bin_++] = log_cost;
    next_sample_ += bin_seconds / bin_capacity;
  }
  if (in_bin_ < min_in_bin || time - bin_start_ < bin_seconds) return false;
  const auto middle = bin_.begin() + static_cast<std::ptrdiff_t>(in_bin_ / 2);
  std::nth_element(bin_.begin(), middle, bin_.begin() + static_cast<std::ptrdiff_t>(in_bin_));
  in_bin_ = 0;
  return add_bin(*middle);
}

bool ChangeDetector::add_bin(double level) {
  ++bins_;
  if (bins_ <= calibration_bins) {
    reference_ += (level - reference_) / bins_;
    return false;
  }
  const double deviation = std::clamp(level - reference_, -limit, limit);
  up_ = std::max(0.0, up_ + deviation - allowance);
  down_ = std::max(0.0, down_ - deviation - allowance);
  reference_ += following * deviation;
  if (std::max(up_, down_) < threshold) return false;
  last_change_ = std::exp(level - reference_);
  reset();
  return true;
}

}  // namespace millrace::tuning
