// What a run waits longer because its threads that read and write frames are bound. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace::run {

// A schedule is judged by the time that computing takes. One that puts the threads that read and write frames
// on a PU that a worker has may compute faster and keep the run waiting instead; what it waits beyond what it
// waits unbound is to count as if it had been computed. Nothing does until that is known, and so never where
// all schedules bind them.
class BoundWait {
 public:
  // Of one turn of the loop: how many frames, at least 1, and seconds waited for input and output. Seconds to
  // be charged to the schedule in use, 0 where it does not bind those threads.
  double add(std::int64_t frames, double waited, bool bound) {
    const double each = waited / static_cast<double>(frames);
    if (bound) return turns_ == 0 ? 0 : std::max(0.0, waited - usual_ * static_cast<double>(frames));
    turns_ = std::min(turns_ + 1, most_turns);
    usual_ += (each - usual_) / turns_;
    return 0;
  }

 private:
  static constexpr int most_turns = 16;  // that count: codecs take and give frames in bursts

  int turns_ = 0;     // unbound, so far
  double usual_ = 0;  // a frame, in them
};

}  // namespace millrace::run
