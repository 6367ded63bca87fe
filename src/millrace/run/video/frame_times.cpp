#include "millrace/run/video/frame_times.h"

#include <algorithm>

namespace millrace::run {
namespace {

FrameTime joined(const FrameTime& first, const FrameTime& second) {
  return {.at = second.at,
          .frames = first.frames + second.frames,
          .computing = first.computing + second.computing,
          .input_wait = first.input_wait + second.input_wait,
          .output_wait = first.output_wait + second.output_wait,
          .slowest = std::max(first.slowest, second.slowest)};
}

}  // namespace

void FrameTimes::add(const FrameTime& batch) {
  if (!points_.empty() && batches_in_last_ < batches_per_point_) {
    points_.back() = joined(points_.back(), batch);
    ++batches_in_last_;
    return;
  }
  if (points_.size() == most_points) {
    for (std::size_t i = 0; i < most_points / 2; ++i)
      points_[i] = joined(points_[2 * i], points_[2 * i + 1]);
    points_.resize(most_points / 2);
    batches_per_point_ *= 2;
  }
  points_.push_back(batch);
  batches_in_last_ = 1;
}

std::vector<FrameTime> FrameTimes::points() const { return points_; }

}  // namespace millrace::run
