// PresentationClock: gives each frame its presentation time.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <optional>

namespace millrace::video {

// Times are strictly increasing and in the format's time base. A frame without a timestamp, or with one that
// is not later than the previous frame's, is shown one frame duration after that frame. If the format has no
// timestamps, the unit is the frame duration. If the first timestamp is negative, it becomes 0 and all others
// are shifted along.
class PresentationClock {
 public:
  explicit PresentationClock(const FrameFormat& format);

  [[nodiscard]] int time_base_numerator() const { return numerator_; }
  [[nodiscard]] int time_base_denominator() const { return denominator_; }

  [[nodiscard]] std::int64_t next(const Frame& frame);
  // The offset added to all times, in units of the time base. Valid after the first frame.
  [[nodiscard]] std::int64_t shift() const { return shift_; }

 private:
  // The duration of this number of frames, in units of the time base.
  [[nodiscard]] std::int64_t duration(std::int64_t frames) const;

  int numerator_;
  int denominator_;
  std::int64_t rate_numerator_;
  std::int64_t rate_denominator_;
  std::int64_t shift_ = 0;
  std::int64_t known_ = 0;              // the last timestamp taken from a frame
  std::int64_t since_known_ = 0;        // frames shown since then
  std::optional<std::int64_t> last_{};  // last time returned
};

}  // namespace millrace::video
