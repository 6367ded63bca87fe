// Estimates how much of the time saved by faster filters shortens the run. Pure.
#pragma once

namespace millrace::run {

// Reading, processing and writing overlap, so the run's loop either computes or waits for a frame or for room
// in the output. A loop that hardly waits is bound by computing, and time saved there shortens the run. In a
// loop that waits, faster filters only lengthen the wait.
//
// Returns which share, in [0, 1], of the time saved by faster filters shortens the run. Arguments are seconds
// and not negative.
[[nodiscard]] double gained_share(double computing, double waiting);

// gained_share() of a run in progress.
class BottleneckShare {
 public:
  // believed: the share assumed before the first observation.
  explicit BottleneckShare(double believed = 1) : believed_(believed) {}

  // Adds one iteration of the loop. Seconds, not negative.
  void add(double computing, double waiting);

  // In [0, 1], over recent iterations. Starts as the assumed share, which fades over several iterations,
  // because every run waits for its first frames at the beginning.
  [[nodiscard]] double value() const;
  // Whether observations outweigh the assumed share.
  [[nodiscard]] bool is_seen() const { return doubt_ < 0.5; }

 private:
  // Exponentially decaying sums.
  double computing_ = 0;
  double waiting_ = 0;
  double believed_;
  double doubt_ = 1;  // weight of the assumed share, from 1 down to 0
};

}  // namespace millrace::run
