// How long a file shows a frame.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <cstdint>
#include <optional>

namespace millrace::video {

// End of the stream's last frame, in units of the stream, if the file states it. Of .mp4, .mov and Matroska
// only. The durations of single packets do not tell: .mp4 stores that of the packet decoded last, which may
// not be shown last, and Matroska usually stores none.
[[nodiscard]] std::optional<std::int64_t> stored_end(const AVFormatContext& container,
                                                     const AVStream& stream);

}  // namespace millrace::video
