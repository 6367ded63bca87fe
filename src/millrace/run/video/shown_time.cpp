#include "millrace/run/video/shown_time.h"

#include <algorithm>

namespace millrace::run {

ShownTime::ShownTime(const video::FrameFormat& format)
    : clock_(format),
      unit_(static_cast<double>(clock_.time_base_numerator()) / clock_.time_base_denominator()) {
  const double frame = static_cast<double>(format.rate_denominator) / format.rate_numerator;
  inaccuracy_ = format.has_timestamps() && unit_ < frame / 2 ? std::min(unit_, frame / 4) : 0;
}

double ShownTime::of(const video::Frame& frame) {
  const std::int64_t time = clock_.next(frame);
  if (!first_) first_ = time;
  return static_cast<double>(time - *first_) * unit_;
}

}  // namespace millrace::run
