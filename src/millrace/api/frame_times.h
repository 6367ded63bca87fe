// When the frames of a video file are shown, without decoding them.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace millrace::api {

struct FrameTimes {
  std::vector<std::int64_t> times;  // in the order in which frames are shown
  int time_base_numerator = 0;      // seconds in a unit of time
  int time_base_denominator = 1;
};

// What millrace.h says of millrace_frame_times. `stops` is called by this thread until it is true.
[[nodiscard]] Result<FrameTimes> frame_times(const std::string& name, const std::function<bool()>& stops);

}  // namespace millrace::api
