// Decides whether a trial pays off in the rest of a stream. Pure.
//
// A trial is worth the expected gain of acting on its result. It is made only if that exceeds its price
// (value of information: Howard 1966; knowledge gradient: Frazier, Powell & Dayanik 2008). Both are in
// seconds of the stream:
//
//   gain = improvement x frame_seconds x bottleneck_share x max(0, frames_left - frames_until)
//
// improvement is the expected improvement of the candidate (expected_improvement.h), given its estimated
// cost, the uncertainty and the profile. frames_until is the number of frames before the gain begins: the
// race itself, and a compilation if the kernels are missing. bottleneck_share is the share of saved time by
// which the stream ends earlier. A stream that waits for its input or output just waits longer.
#pragma once

#include <algorithm>

namespace millrace::tuning {

struct TrialValue {
  double improvement = 0;       // expected, in log cost: the share of a frame's time saved
  double frame_seconds = 0;     // of the incumbent
  double frames_left = 0;       // of the stream
  double frames_until = 0;      // before the gain begins
  double bottleneck_share = 1;  // share of saved time that the stream gains, in [0, 1]
  double loss = 0;              // expected loss in seconds: switching, first touch, slower frames, compiling

  [[nodiscard]] double gain() const {
    return improvement * frame_seconds * bottleneck_share * std::max(0.0, frames_left - frames_until);
  }
  [[nodiscard]] bool pays() const { return gain() > loss; }
};

}  // namespace millrace::tuning
