// Reads the presentation times of a video file's frames without decoding them.
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace millrace::api {

struct FrameTimes {
  std::vector<std::int64_t> times;  // in display order
  int time_base_numerator = 0;      // seconds per unit of time
  int time_base_denominator = 1;
};

// See millrace_frame_times in millrace.h. This thread polls `stops` and ends the call once it returns true.
[[nodiscard]] Result<FrameTimes> frame_times(const std::string& name, const std::function<bool()>& stops);

}  // namespace millrace::api
