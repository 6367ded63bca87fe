// Detects a lasting change of the incumbent's cost from the incumbent's own frames.
#pragma once

#include <array>
#include <cstddef>

namespace millrace::tuning {

// Two-sided CUSUM (Page 1954) of log cost against a reference level. Frames are collected in bins of at least
// 20 ms and three frames. The sums use the medians of the bins, so neither a single burst nor the frame rate
// matters. The reference follows slowly, so that slow drift raises no alarm. A step of 15 % or more is
// detected after five to six bins.
class ChangeDetector {
 public:
  // Adds one trusted frame of the incumbent. Returns true if the level has changed; the detector then
  // restarts from the new level.
  [[nodiscard]] bool add(double time, double log_cost);
  // Call this for a new incumbent.
  void reset();
  // exp(new level - old level) of the last alarm.
  [[nodiscard]] double last_change() const { return last_change_; }

 private:
  static constexpr std::size_t bin_capacity = 32;
  [[nodiscard]] bool add_bin(double level);

  std::array<double, bin_capacity> bin_{};
  std::size_t in_bin_ = 0;
  double bin_start_ = 0;
  double next_sample_ = 0;
  int bins_ = 0;  // since the last reset
  double reference_ = 0;
  double up_ = 0;
  double down_ = 0;
  double last_change_ = 1;
};

}  // namespace millrace::tuning
