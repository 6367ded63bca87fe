// The header line of YUV4MPEG2 ("y4m"), uncompressed video in a stream: the format of mjpegtools' yuv4mpeg(5)
// with the names that FFmpeg and x264 gave to depths above 8 bits and to colour range.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame/frame.h"

#include <string>
#include <string_view>

namespace millrace::video {

// The line without its newline. Where it leaves things out, they are 4:2:0 8 bit, 25 frames a second, and of
// unspecified colour range. Errors do not name the file; the caller knows it.
[[nodiscard]] Result<FrameFormat> parse_y4m_header(std::string_view line);

// The line without its newline; parse_y4m_header() gives the same format back, except for what y4m has no
// place for: the time base, the colour code points other than the range, some places of chroma samples.
// FFmpeg reads all that it has a name for: every chroma with 8, 9, 10, 12, 14, 16 bits save gray with 14.
[[nodiscard]] std::string y4m_header(const FrameFormat& format);

// What each frame begins with; parameters may stand between it and the newline.
inline constexpr std::string_view y4m_frame_magic = "FRAME";

}  // namespace millrace::video
