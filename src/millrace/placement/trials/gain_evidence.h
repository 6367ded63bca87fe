// GainEvidence: how much speaks for a gain, whenever it is asked.
#pragma once

#include <array>
#include <vector>

namespace millrace::placement {

// A bet against "it brings nothing" (Shafer 2021, Ramdas et al. 2023). Where a plan brings nothing, log
// ratios of windows that took turns lie about 0 symmetrically, and whoever stakes a part of a fortune of 1 on
// the sign of each, more on larger ones, is not expected to win: the chance that the fortune ever reaches 1/a
// is a at most, however often it is looked at and however long it goes on (Ville 1939). Nothing is taken for
// granted of how much they scatter.
class GainEvidence {
 public:
  // A log ratio of rates, candidate to untouched.
  void add(double log_ratio);
  // The fortune: from 1 on, towards infinity where there is a gain, towards 0 where there is a loss.
  [[nodiscard]] double value() const;
  // What it may become at most by so many more ratios.
  [[nodiscard]] double best_after(int ratios) const;

 private:
  // Two players: one who is sure soon, and one who loses less in noise.
  static constexpr std::array stakes = {0.95, 0.4};
  static constexpr std::array shares = {0.8, 0.2};
  std::array<double, 2> fortunes_ = {1, 1};
  std::vector<double> sizes_;  // of the log ratios so far
};

}  // namespace millrace::placement
