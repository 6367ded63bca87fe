// Timecodes: the labels of frames, as cameras and editors count them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::video {

// The timecode of the frame that comes so many frames later: "01:00:00:00", or "01:00:00;00" where numbers
// are dropped, as at 30000/1001 frames a second. Begins again after 24 hours. None where the text is no
// timecode at that rate.
[[nodiscard]] std::optional<std::string> timecode_after(std::string_view timecode, std::int64_t frames,
                                                        std::int64_t rate_numerator,
                                                        std::int64_t rate_denominator);

}  // namespace millrace::video
