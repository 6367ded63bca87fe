// One race: a challenger against the incumbent, in interleaved blocks of frames, ended as soon as it is
// decided.
#pragma once

#include "millrace/tuning/space/objective.h"

#include <array>
#include <cstddef>
#include <span>

namespace millrace::tuning {

enum class Verdict {
  open,           // go on
  clearly_worse,  // within the first block
  not_better,     // cannot be better by more than the margin
  undecided,      // all frames used, no difference to act on
  better,
};

// Blocks alternate: challenger, incumbent, challenger, ... A block begins with one frame that warms caches,
// which is counted only where it is trusted. The challenger's block is compared with the incumbent's blocks
// on both sides of it: a linear drift of the machine's speed cancels out. The log ratios of the pairs are
// averaged, weighted by their frames and bounded around their median (Huber 1964), with the interval from the
// frames' noise or from the pairs' own scatter, whichever is wider. As in Hoeffding races (Maron & Moore
// 1994) the challenger leaves when its interval says so; the intervals are normal ones at a fixed level for
// each look instead of bounds that hold for all looks together: a good candidate lost by chance comes back
// when the cost model still believes in it, and a bad one let through is only a few percent worse.
class Race {
 public:
  // Differences of log cost up to this are never worth a switch.
  static constexpr double least_margin = 0.01;

  struct Next {
    bool challenger = false;
    int batches = 1;  // left of the block
  };

  // margin: log ratio, at least least_margin, by which a challenger must promise to be better to stay in the
  // race. noise: standard deviation of the log cost of a frame. before: log costs of the incumbent's last
  // frames; with fewer than 2 the race begins with a block of the incumbent.
  Race(const Objective& objective, double margin, double noise, std::span<const double> before);

  [[nodiscard]] Next next() const;
  // An observation of what next() asked for. Untrusted: the first of a block warms up and counts only when it
  // is several times slower; others count with twice the noise.
  [[nodiscard]] Verdict tell(double log_cost, bool trusted);

  // Estimate of the log ratio challenger / incumbent, and the standard error of it.
  [[nodiscard]] double log_ratio() const { return log_ratio_; }
  [[nodiscard]] double error() const { return error_; }
  [[nodiscard]] int pairs() const { return static_cast<int>(pairs_); }
  // The next observation is the first of its block.
  [[nodiscard]] bool warming() const { return warming_; }
  // Untrusted frames took part.
  [[nodiscard]] bool disturbed() const { return disturbed_; }
  // Typical log cost of the challenger's last block.
  [[nodiscard]] double challenger_log_cost() const { return challenger_.level; }

 private:
  static constexpr std::size_t max_pairs = 7;
  static constexpr std::size_t max_block = 16;

  struct Level {
    double level = 0;
    double weight = 0;  // frames, disturbed ones less
  };
  struct Pair {
    double log_ratio = 0;
    double variance = 0;
  };

  [[nodiscard]] std::size_t block_length() const;
  [[nodiscard]] Level block_level() const;
  [[nodiscard]] Pair pair_with(const Level& incumbent) const;
  void estimate(std::span<const Pair> pairs);
  [[nodiscard]] Verdict after_challenger_frame();
  [[nodiscard]] Verdict after_pair();

  Objective objective_;
  double margin_;
  double noise_;
  std::array<double, max_block> block_{};
  std::size_t in_block_ = 0;
  double block_weight_ = 0;
  bool challengers_turn_ = true;
  bool warming_ = true;
  bool disturbed_ = false;
  Level before_;      // the incumbent, before the challenger's block
  Level challenger_;  // its last block
  std::array<Pair, max_pairs + 1> pair_{};
  std::size_t pairs_ = 0;
  double log_ratio_ = 0;
  double error_ = 1;
};

}  // namespace millrace::tuning
