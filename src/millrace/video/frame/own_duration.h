// The duration of a frame, if it is not one frame duration.
//
// Only the duration of the last frame matters; every other frame is shown until the next one. The duration is
// stored in the frame's properties.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::video {

// Name of the property.
inline constexpr std::string_view own_duration_name = "Duration";

// In units of the format's time base. None: one frame duration, or until the next frame.
[[nodiscard]] std::optional<std::int64_t> own_duration(const Frame& frame);
void set_own_duration(Frame& frame, std::int64_t duration);

}  // namespace millrace::video
