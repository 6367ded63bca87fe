// GainEvidence: the evidence for a gain, valid at any time.
#pragma once

#include <array>
#include <vector>

namespace millrace::placement {

// A bet against "the plan brings nothing" (Shafer 2021, Ramdas et al. 2023). If the plan brings nothing, the
// log ratios of windows in random order are symmetric about 0. A player who stakes part of a fortune of 1 on
// the sign of each, more on larger ones, then has no expected profit. So the probability that the fortune
// ever reaches 1/a is at most a, however often it is checked and however long the bets go on (Ville 1939).
// Nothing is assumed about the scatter.
class GainEvidence {
 public:
  // Adds a log ratio of rates, candidate to untouched.
  void add(double log_ratio);
  // The fortune. It starts at 1 and tends to infinity for a gain and to 0 for a loss.
  [[nodiscard]] double value() const;
  // The most that it can become with this many more ratios.
  [[nodiscard]] double best_after(int ratios) const;

 private:
  // Two players: a bold one that is certain early, and a careful one that loses less in noise.
  static constexpr std::array stakes = {0.95, 0.4};
  static constexpr std::array shares = {0.8, 0.2};
  std::array<double, 2> fortunes_ = {1, 1};
  std::vector<double> sizes_;  // magnitudes of the log ratios so far
};

}  // namespace millrace::placement
