// Objectives: how measured frames become the one number by which candidates are compared.
#pragma once

#include <span>

namespace millrace::tuning {

// The measurement of one frame, or of a batch of frames that ran in parallel.
struct Observation {
  int candidate = 0;     // the candidate that really ran
  double time = 0;       // completion time of the frames: seconds on any monotonic clock
  int frames = 1;        // at least 1
  double seconds = 0;    // wall time of all these frames together; above 0
  double latency = 0;    // longest time from frame in to frame out; 0: same as `seconds`
  bool trusted = true;   // false: the first frame after a switch, or measured during a compilation
  double switching = 0;  // seconds spent before these frames on switching the candidate
};

enum class Aim {
  throughput,  // minimise mean seconds per frame
  latency,     // minimise the 99th percentile of latency
  deadline,    // minimise frames that miss the deadline; if equal, minimise resources
};

// A value type. Candidates are compared by the logarithm of a cost. Differences are then ratios, and the
// heavy upper tail of run times has less weight.
struct Objective {
  Aim aim = Aim::throughput;
  double deadline = 0;  // seconds, for Aim::deadline

  // The log cost of one observation:
  //
  //   - throughput: log(seconds / frames)
  //   - latency: log(latency)
  //   - deadline: log(resources) + 10 max(0, log(latency / (0.8 deadline)))
  //
  // For the deadline, frames that take up to 80 % of it are equally good, so resources (threads, at least 1)
  // decide. A frame exactly on the deadline counts like one with nine times the resources. The slope
  // distinguishes candidates even if all of them are late.
  [[nodiscard]] double log_cost(const Observation& observation, double resources) const;

  // Summarises the observations of a block; `ascending` is sorted and not empty.
  //
  // Throughput uses the mean of the middle half (the median for up to 2 values). A plain mean would depend on
  // a single burst of other load. The price is that candidates with rare slow frames of their own look better
  // than they are.
  //
  // Latency and deadline use the mean of the upper half. A 99th percentile needs hundreds of frames, but a
  // trial has a dozen. The upper half orders candidates by their tails as soon as there is something to see.
  [[nodiscard]] double summary(std::span<const double> ascending) const;
};

}  // namespace millrace::tuning
