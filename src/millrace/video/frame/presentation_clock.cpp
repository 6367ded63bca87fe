#include "millrace/video/frame/presentation_clock.h"

#include <algorithm>
#include <cmath>

namespace millrace::video {

PresentationClock::PresentationClock(const FrameFormat& format)
    : numerator_(format.has_timestamps() ? format.time_base_numerator : format.rate_denominator),
      denominator_(format.has_timestamps() ? format.time_base_denominator : format.rate_numerator),
      rate_numerator_(format.rate_numerator), rate_denominator_(format.rate_denominator) {}

std::int64_t PresentationClock::duration(std::int64_t frames) const {
  // Floating point, because the product of four 32-bit numbers overflows. Exact within a tick for a day of
  // frames.
  const double unit = static_cast<double>(numerator_) / denominator_;
  const double frame = static_cast<double>(rate_denominator_) / static_cast<double>(rate_numerator_);
  return std::llround(static_cast<double>(frames) * frame / unit);
}

std::int64_t PresentationClock::next(const Frame& frame) {
  if (frame.format().has_timestamps() && frame.timestamp) {
    if (!last_) shift_ = std::max<std::int64_t>(0, -*frame.timestamp);
    const std::int64_t own = *frame.timestamp + shift_;
    if (!last_ || own > *last_) {
      known_ = own;
      since_known_ = 0;
      last_ = own;
      return own;
    }
  }
  if (last_) ++since_known_;
  const std::int64_t time = known_ + duration(since_known_);
  last_ = last_ ? std::max(time, *last_ + 1) : time;
  return *last_;
}

}  // namespace millrace::video
