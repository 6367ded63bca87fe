// What binds a run whose encoder takes its first frames before it makes anyone wait. Pure.
#pragma once

#include "millrace/run/video/bound_share.h"

#include <cstdint>

namespace millrace::run {

// An encoder that looks ahead takes 10 to 60 frames into its memory at once, so that a run looks bound by its
// filters just when it begins. Until it is full nothing can be known, unless the filters take longer than any
// encoder would. From then on it is believed to be the encoder, until turns have shown what it is.
//
//   EncoderFill fill(writer.frames_ahead());
//   fill.add(turn);                                   // after every one
//   if (fill.known()) search.bound_share(fill.bound_share());
class EncoderFill {
 public:
  // frames_ahead: how many the encoder takes; 0: none, so that all that is seen counts.
  explicit EncoderFill(std::int64_t frames_ahead = 0);

  // One turn of the loop, and the run up to its end.
  struct Turn {
    std::int64_t frames_so_far = 0;
    double pixels_so_far = 0;
    double processor_seconds_so_far = 0;  // of the filters
    double computing = 0;                 // seconds
    double waiting = 0;
  };
  void add(const Turn& turn);

  [[nodiscard]] bool known() const { return state_ == State::known; }
  // As BoundShare::value().
  [[nodiscard]] double bound_share() const { return share_.value(); }

 private:
  enum class State { filling, full, known };

  std::int64_t frames_ahead_;
  State state_;
  BoundShare share_;
};

}  // namespace millrace::run
