// Extra waiting caused by pinning the I/O threads. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace::run {

// Schedules are ranked by computing time. A schedule that pins I/O threads to a worker's CPU can compute
// faster and still slow down the run. So waiting beyond that of unpinned schedules is charged to it as
// computing time. Nothing is charged until the unpinned wait is known, so never if all schedules pin the I/O
// threads.
class PinnedIoWait {
 public:
  // Adds one iteration of the loop: its frames (at least 1) and seconds of waiting for input and output.
  // Returns the seconds to charge to the current schedule; 0 if it does not pin the I/O threads.
  double add(std::int64_t frames, double waited, bool bound) {
    const double each = waited / static_cast<double>(frames);
    if (bound) return batches_ == 0 ? 0 : std::max(0.0, waited - usual_ * static_cast<double>(frames));
    batches_ = std::min(batches_ + 1, most_batches);
    usual_ += (each - usual_) / batches_;
    return 0;
  }

 private:
  static constexpr int most_batches = 16;  // in the average: codecs take and return frames in bursts

  int batches_ = 0;   // unpinned iterations so far
  double usual_ = 0;  // average unpinned wait per frame, in seconds
};

}  // namespace millrace::run
