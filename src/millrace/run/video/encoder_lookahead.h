// Detects when the encoder's lookahead is full. Until then the bottleneck cannot be measured. Pure.
#pragma once

#include "millrace/run/video/bottleneck_share.h"

#include <cstdint>

namespace millrace::run {

// An encoder with lookahead accepts 10 to 60 frames at once, so every run looks bound by its filters at the
// beginning. The bottleneck is unknown until the lookahead is full, unless the filters are slower than any
// encoder. After that the encoder is assumed to be the bottleneck until measurements show otherwise.
//
//   EncoderLookahead lookahead(writer.frames_ahead());
//   lookahead.add(batch);                              // after every one
//   if (lookahead.known()) search.bottleneck_share(lookahead.bottleneck_share());
class EncoderLookahead {
 public:
  // frames_ahead: size of the encoder's lookahead in frames. With 0, every measurement counts.
  explicit EncoderLookahead(std::int64_t frames_ahead = 0);

  // One iteration of the loop, and totals of the run up to its end.
  struct Batch {
    std::int64_t frames_so_far = 0;
    double pixels_so_far = 0;
    double processor_seconds_so_far = 0;  // CPU time of the filters
    double computing = 0;                 // seconds, like waiting
    double waiting = 0;
  };
  void add(const Batch& batch);

  [[nodiscard]] bool known() const { return state_ == State::known; }
  // See BottleneckShare::value().
  [[nodiscard]] double bottleneck_share() const { return share_.value(); }

 private:
  enum class State { filling, full, known };

  std::int64_t frames_ahead_;
  State state_;
  BottleneckShare share_;
};

}  // namespace millrace::run
