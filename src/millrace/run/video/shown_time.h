// ShownTime: when the frames of a video are shown, seconds from the first one on. Pure.
#pragma once

#include "millrace/video/frame/presentation_clock.h"

#include <cstdint>
#include <optional>

namespace millrace::run {

class ShownTime {
 public:
  explicit ShownTime(const video::FrameFormat& format);

  // Of the next frame.
  [[nodiscard]] double of(const video::Frame& frame);
  // How far the video's clock may be from the truth: one of its units, as in files that count milliseconds,
  // but no more than a quarter of a frame. Where units are about as long as frames they are counted, and 0.
  [[nodiscard]] double inaccuracy() const { return inaccuracy_; }

 private:
  video::PresentationClock clock_;
  std::optional<std::int64_t> first_;
  double unit_;
  double inaccuracy_;
};

}  // namespace millrace::run
