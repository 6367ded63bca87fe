// How much the log cost of one candidate scatters from frame to frame.
#pragma once

namespace millrace::tuning {

// Half of all differences between consecutive frames are smaller than 0.6745 sqrt(2) sigma for normal noise,
// whatever the rare large ones do and however the level drifts. The median is followed by steps up or down in
// proportion to itself (Robbins & Monro 1951), so a frame costs a few instructions and no memory.
class NoiseLevel {
 public:
  // The next frame follows one of another candidate, or a gap.
  void interrupt() { has_last_ = false; }
  void add(double log_cost);
  // Standard deviation of log cost without the outliers, in [min, max].
  [[nodiscard]] double sigma() const { return sigma_; }

  static constexpr double min = 0.005;
  static constexpr double max = 0.3;

 private:
  double sigma_ = 0.05;  // until something is known: what a shared machine shows
  double last_ = 0;
  int seen_ = 0;
  bool has_last_ = false;
};

}  // namespace millrace::tuning
