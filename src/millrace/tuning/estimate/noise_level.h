// Estimates how much one candidate's log cost varies from frame to frame.
#pragma once

namespace millrace::tuning {

// For normal noise, half of all differences between consecutive frames are below 0.6745 sqrt(2) sigma. Rare
// outliers and slow drift hardly affect this median. It is tracked with steps up or down in proportion to
// itself (Robbins & Monro 1951), so a frame costs a few instructions and no memory.
class NoiseLevel {
 public:
  // The next frame follows a different candidate or a gap.
  void interrupt() { has_last_ = false; }
  void add(double log_cost);
  // Standard deviation of log cost without outliers, in [min, max].
  [[nodiscard]] double sigma() const { return sigma_; }

  static constexpr double min = 0.005;
  static constexpr double max = 0.3;

 private:
  double sigma_ = 0.05;  // initial value: typical of a shared machine
  double last_ = 0;
  int seen_ = 0;
  bool has_last_ = false;
};

}  // namespace millrace::tuning
