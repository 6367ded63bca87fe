// Finds out that the incumbent's cost has changed for good, from its own frames alone.
#pragma once

#include <array>
#include <cstddef>

namespace millrace::tuning {

// Two-sided CUSUM (Page 1954) of log cost against a reference level. Frames are gathered into bins of at
// least 20 ms and three frames, and the bins' medians are summed, so that neither one burst nor the frame
// rate matters; the reference follows slowly, so that slow drift is no alarm. A step by
// 15 % or more is found after five to six bins.
class ChangeDetector {
 public:
  // One trusted frame of the incumbent. True: the level has changed; the detector then starts from the new
  // one.
  [[nodiscard]] bool add(double time, double log_cost);
  // There is a new incumbent.
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
  int bins_ = 0;  // since the reset
  double reference_ = 0;
  double up_ = 0;
  double down_ = 0;
  double last_change_ = 1;
};

}  // namespace millrace::tuning
