// A race: compares a challenger with the incumbent in interleaved blocks of frames, and ends as soon as it is
// decided.
#pragma once

#include "millrace/tuning/space/objective.h"

#include <array>
#include <cstddef>
#include <span>

namespace millrace::tuning {

enum class Verdict {
  open,           // continue
  clearly_worse,  // decided within the first block
  not_better,     // cannot be better by more than the margin
  undecided,      // all frames used without a significant difference
  better,
};

// Blocks alternate: challenger, incumbent, challenger, ... A block begins with one frame that warms caches
// and counts only if it is trusted. Each challenger block is compared with the incumbent blocks before and
// after it, which cancels a linear drift of the machine's speed. The log ratios of the pairs are averaged,
// weighted by frames and clamped around their median (Huber 1964). The interval comes from the frames' noise
// or from the scatter of the pairs, whichever is wider.
//
// As in Hoeffding races (Maron & Moore 1994), the interval decides when the challenger leaves. The intervals
// are normal at a fixed level for each look, instead of bounds that hold for all looks together. A good
// candidate that loses by chance returns if the cost model still believes in it. A bad one that wins by
// chance is only a few percent worse.
class Race {
 public:
  // Smaller differences of log cost are never worth a switch.
  static constexpr double least_margin = 0.01;

  struct Next {
    bool challenger = false;
    int batches = 1;  // left in the block
  };

  // margin: the log ratio by which a challenger must promise to be better to stay in the race; at least
  // least_margin. noise: standard deviation of a frame's log cost. before: log costs of the incumbent's last
  // frames; with fewer than 2, the race begins with an incumbent block.
  Race(const Objective& objective, double margin, double noise, std::span<const double> before);

  [[nodiscard]] Next next() const;
  // An observation of the frames that next() requested. If untrusted, the first of a block counts only as
  // warm-up unless it is several times slower. Others count with twice the noise.
  [[nodiscard]] Verdict tell(double log_cost, bool trusted);

  // Estimate of the log ratio challenger / incumbent, and its standard error.
  [[nodiscard]] double log_ratio() const { return log_ratio_; }
  [[nodiscard]] double error() const { return error_; }
  [[nodiscard]] int pairs() const { return static_cast<int>(pairs_); }
  // Whether the next observation is the first of its block.
  [[nodiscard]] bool warming() const { return warming_; }
  // Whether untrusted frames took part.
  [[nodiscard]] bool disturbed() const { return disturbed_; }
  // Typical log cost of the challenger's last block.
  [[nodiscard]] double challenger_log_cost() const { return challenger_.level; }

 private:
  static constexpr std::size_t max_pairs = 7;
  static constexpr std::size_t max_block = 16;

  struct Level {
    double level = 0;
    double weight = 0;  // number of frames; disturbed ones count less
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
  Level before_;      // the incumbent's level before the challenger's block
  Level challenger_;  // the level of its last block
  std::array<Pair, max_pairs + 1> pair_{};
  std::size_t pairs_ = 0;
  double log_ratio_ = 0;
  double error_ = 1;
};

}  // namespace millrace::tuning
