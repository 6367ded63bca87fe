// Timecodes: the frame labels that cameras and editors use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::video {

// Returns the timecode `frames` frames later: "01:00:00:00", or "01:00:00;00" for drop-frame timecode, as at
// 30000/1001 frames per second. Wraps after 24 hours. None if the text is not a timecode at that rate.
[[nodiscard]] std::optional<std::string> timecode_after(std::string_view timecode, std::int64_t frames,
                                                        std::int64_t rate_numerator,
                                                        std::int64_t rate_denominator);

}  // namespace millrace::video
