// Whether a trial pays in what is left of a stream. Pure.
//
// What a trial tells is worth the gain that is expected of acting on it, and a trial is made only where that
// exceeds its price (value of information: Howard 1966; for picking one of many alternatives by measuring:
// the knowledge gradient of Frazier, Powell & Dayanik 2008). Both are in seconds of the stream:
//
//   gain = improvement x frame_seconds x bound_share x max(0, frames_left - frames_until)
//
// improvement is the expected improvement of what is believed of the candidate (expected_improvement.h): its
// estimate, how uncertain that is, and what a profile says are all in there. frames_until are those that go
// by before the gain begins: the race itself, and a compilation where its kernels are not there. bound_share
// is what of the time saved the stream is done earlier by: a stream that waits for its input or output anyway
// waits longer instead.
#pragma once

#include <algorithm>

namespace millrace::tuning {

struct TrialValue {
  double improvement = 0;    // expected, in log cost: the share of a frame's time that is saved
  double frame_seconds = 0;  // of the incumbent
  double frames_left = 0;    // of the stream
  double frames_until = 0;   // the gain begins
  double bound_share = 1;    // of the time saved that the stream gains, in [0, 1]
  double loss = 0;           // seconds expected to be lost: switching, first touch, slower frames, compiling

  [[nodiscard]] double gain() const {
    return improvement * frame_seconds * bound_share * std::max(0.0, frames_left - frames_until);
  }
  [[nodiscard]] bool pays() const { return gain() > loss; }
};

}  // namespace millrace::tuning
