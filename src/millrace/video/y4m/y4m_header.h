// The header line of YUV4MPEG2 ("y4m"), a streaming format for uncompressed video. The format is mjpegtools'
// yuv4mpeg(5), with the names that FFmpeg and x264 use for colour range and for depths above 8 bits.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/frame/frame.h"

#include <string>
#include <string_view>

namespace millrace::video {

// Takes the line without its newline. Defaults: 4:2:0, 8 bits, 25 frames per second, unspecified colour
// range. Errors do not name the file, because only the caller knows it.
[[nodiscard]] Result<FrameFormat> parse_y4m_header(std::string_view line);

// Returns the line without its newline. parse_y4m_header() returns the same format, except for fields that
// y4m lacks: the time base, colour code points other than the range, some chroma sample locations. FFmpeg
// reads every chroma with 8, 9, 10, 12, 14 or 16 bits, except gray with 14, which has no name there.
[[nodiscard]] std::string y4m_header(const FrameFormat& format);

// Start of each frame. Parameters may follow before the newline.
inline constexpr std::string_view y4m_frame_magic = "FRAME";

}  // namespace millrace::video
