// ShownTime: presentation times of a video's frames, in seconds from the first frame. Pure.
#pragma once

#include "millrace/video/frame/presentation_clock.h"

#include <cstdint>
#include <optional>

namespace millrace::run {

class ShownTime {
 public:
  explicit ShownTime(const video::FrameFormat& format);

  // Call it for each frame in order.
  [[nodiscard]] double of(const video::Frame& frame);
  // Maximum error of the video's clock: one of its units, for example a millisecond, but at most a quarter of
  // a frame. It is 0 if units are about as long as frames, because then the units count frames.
  [[nodiscard]] double inaccuracy() const { return inaccuracy_; }

 private:
  video::PresentationClock clock_;
  std::optional<std::int64_t> first_;
  double unit_;
  double inaccuracy_;
};

}  // namespace millrace::run
