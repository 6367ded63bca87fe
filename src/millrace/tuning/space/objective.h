// What "better" means: how measured frames turn into the one number by which candidates are compared.
#pragma once

#include <span>

namespace millrace::tuning {

// What was measured of one frame, or of several that ran side by side as one batch.
struct Observation {
  int candidate = 0;     // what really ran
  double time = 0;       // when the frames were finished: seconds on any clock that never goes back
  int frames = 1;        // at least 1
  double seconds = 0;    // wall time of all these frames together; more than 0
  double latency = 0;    // longest time from frame in to frame out among them; 0: the same as `seconds`
  bool trusted = true;   // false: the first frame after a switch, or measured while a compilation ran
  double switching = 0;  // seconds that went by before these frames because the candidate had changed
};

enum class Aim {
  throughput,  // least mean seconds a frame
  latency,     // least 99th percentile of latency
  deadline,    // fewest frames later than the deadline; among equals the fewest resources
};

// A value. Candidates are compared by the logarithm of a cost, so that differences are ratios and the heavy
// upper tail of run times is pulled in.
struct Objective {
  Aim aim = Aim::throughput;
  double deadline = 0;  // seconds, for Aim::deadline

  // The log cost of one observation.
  // throughput: log(seconds / frames).
  // latency: log(latency).
  // deadline: log(resources) + 10 max(0, log(latency / (0.8 deadline))). A frame that takes up to 80 % of the
  // deadline is as good as any other, so resources (threads, at least 1) decide; one on the deadline counts
  // as if it had taken nine times the resources. The slope tells late candidates apart where all are late.
  [[nodiscard]] double log_cost(const Observation& observation, double resources) const;

  // One number for the observations of a block; `ascending` is sorted and not empty.
  // throughput: the mean of the middle half (of the median for up to 2). A mean would be at the mercy of a
  // neighbour's one burst; candidates whose own rare frames are slow look better than they are.
  // latency and deadline: the mean of the upper half. A 99th percentile takes hundreds of frames to see, a
  // trial has a dozen; the upper half orders candidates by their tails as soon as there is something to see.
  [[nodiscard]] double summary(std::span<const double> ascending) const;
};

}  // namespace millrace::tuning
