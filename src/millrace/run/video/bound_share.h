// How much of the time that faster filters would save a run is done earlier by. Pure.
#pragma once

namespace millrace::run {

// Reading, processing and writing overlap, so the loop of a run either computes or waits: for a frame to
// come, or for room to put one. Where it hardly waits, computing bounds the run, and what computing saves the
// run gains. Where it waits, that much more could be saved without any gain: the wait would be longer.
//
// Of the time that faster filters would save a run that computed and waited so long (seconds, none below 0):
// what it would be done earlier by, in [0, 1].
[[nodiscard]] double gained_share(double computing, double waiting);

// gained_share() of a run that goes on.
class BoundShare {
 public:
  // believed: what is taken for the share of a run of which nothing was seen yet.
  explicit BoundShare(double believed = 1) : believed_(believed) {}

  // Of one turn of the loop, in seconds, none below 0.
  void add(double computing, double waiting);

  // In [0, 1], of the last few turns; what is believed before the first, and that in part for some turns
  // more, as what has just begun waits for its first frames whatever bounds it later.
  [[nodiscard]] double value() const;
  // Whether that owes more to what was seen than to what is believed.
  [[nodiscard]] bool is_seen() const { return doubt_ < 0.5; }

 private:
  // Sums that forget.
  double computing_ = 0;
  double waiting_ = 0;
  double believed_;
  double doubt_ = 1;  // how little what was seen counts yet
};

}  // namespace millrace::run
