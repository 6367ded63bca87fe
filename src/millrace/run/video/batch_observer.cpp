#include "millrace/run/video/batch_observer.h"

namespace millrace::run {

image::BatchFeedback BatchObserver::feedback() const {
  image::BatchFeedback feedback;
  feedback.bottleneck_share.reset();
  if (lookahead_.known()) feedback.bottleneck_share = lookahead_.bottleneck_share();
  return feedback;
}

image::BatchFeedback BatchObserver::add(const FrameTime& batch, const SoFar& run) {
  double cost = 0;
  if (!first_) {
    const double waiting = batch.input_wait + batch.output_wait;
    lookahead_.add({.frames_so_far = run.frames,
                    .pixels_so_far = run.pixels,
                    .processor_seconds_so_far = run.processor_seconds,
                    .computing = batch.computing,
                    .waiting = waiting});
    cost = pinned_io_wait_.add(batch.frames, waiting, run.io_pinned);
  }
  first_ = false;
  image::BatchFeedback result = feedback();
  result.handover = batch.output_wait;
  result.cost = cost;
  return result;
}

}  // namespace millrace::run
