// PresentationClock: when each frame of a video is shown.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <optional>

namespace millrace::video {

// Gives every frame a time, each later than the one before. Where the format has timestamps they count in its
// time base, as the frames have them; a frame without one, or with one that is not later than the frame's
// before, is shown one frame duration after that. Where it has none, the unit is the frame duration. Not
// before 0: where the first timestamp is negative, it becomes 0 and the others move along.
class PresentationClock {
 public:
  explicit PresentationClock(const FrameFormat& format);

  [[nodiscard]] int time_base_numerator() const { return numerator_; }
  [[nodiscard]] int time_base_denominator() const { return denominator_; }

  [[nodiscard]] std::int64_t next(const Frame& frame);
  // What all times were moved by, in units of the time base. After the first frame.
  [[nodiscard]] std::int64_t shift() const { return shift_; }

 private:
  // Of so many frame durations, in units of the time base.
  [[nodiscard]] std::int64_t duration(std::int64_t frames) const;

  int numerator_;
  int denominator_;
  std::int64_t rate_numerator_;
  std::int64_t rate_denominator_;
  std::int64_t shift_ = 0;
  std::int64_t known_ = 0;              // the last time that a frame brought with it
  std::int64_t since_known_ = 0;        // frames shown since
  std::optional<std::int64_t> last_{};  // time given
};

}  // namespace millrace::video
