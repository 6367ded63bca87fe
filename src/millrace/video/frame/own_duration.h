// How long a frame is shown, where that is no frame duration.
//
// What counts is that of the last frame: others are shown until the next. It travels among the properties of
// the frame.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::video {

// The name of it among the properties.
inline constexpr std::string_view own_duration_name = "Duration";

// In units of the format's time base; none: a frame duration, or until the next frame.
[[nodiscard]] std::optional<std::int64_t> own_duration(const Frame& frame);
void set_own_duration(Frame& frame, std::int64_t duration);

}  // namespace millrace::video
