// BatchObserver: what the schedule search learns from the times of a batch of frames. Pure.
#pragma once

#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/run/video/encoder_lookahead.h"
#include "millrace/run/video/frame_times.h"
#include "millrace/run/video/pinned_io_wait.h"

#include <cstdint>

namespace millrace::run {

//   BatchObserver observer(writer.frames_ahead());
//   search.observe(observer.feedback());                    // before the first batch
//   search.observe(observer.add(times_of_batch, run_so_far));  // after each one
class BatchObserver {
 public:
  // frames_ahead: size of the encoder's lookahead in frames.
  explicit BatchObserver(std::int64_t frames_ahead = 0) : lookahead_(frames_ahead) {}

  // The run up to the end of the batch.
  struct SoFar {
    std::int64_t frames = 0;
    double pixels = 0;
    double processor_seconds = 0;  // CPU time of the filters
    bool io_pinned = false;        // whether the current schedule pins the I/O threads
  };
  // The times of the first batch say nothing about the bottleneck: it includes the start of a reader.
  [[nodiscard]] image::BatchFeedback add(const FrameTime& batch, const SoFar& run);
  // What is known without another batch.
  [[nodiscard]] image::BatchFeedback feedback() const;

 private:
  EncoderLookahead lookahead_;
  PinnedIoWait pinned_io_wait_;
  bool first_ = true;
};

}  // namespace millrace::run
