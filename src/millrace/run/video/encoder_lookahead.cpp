#include "millrace/run/video/encoder_lookahead.h"

namespace millrace::run {
namespace {

// Approximate CPU time per pixel of x264 at preset veryfast. Slower filters are the bottleneck for any
// encoder.
constexpr double encoder_seconds_a_pixel = 25e-9;

}  // namespace

EncoderLookahead::EncoderLookahead(std::int64_t frames_ahead)
    : frames_ahead_(frames_ahead), state_(frames_ahead > 0 ? State::filling : State::known) {}

void EncoderLookahead::add(const Batch& batch) {
  if (state_ == State::filling) {
    if (batch.frames_so_far > frames_ahead_) {
      state_ = State::full;
      share_ = BottleneckShare(0);  // usually the encoder is the bottleneck
    } else if (batch.processor_seconds_so_far > encoder_seconds_a_pixel * batch.pixels_so_far) {
      state_ = State::known;
    } else {
      return;
    }
  }
  share_.add(batch.computing, batch.waiting);
  if (state_ == State::full && share_.is_seen()) state_ = State::known;
}

}  // namespace millrace::run
