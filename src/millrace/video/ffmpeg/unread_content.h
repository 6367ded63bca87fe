// What a file has beside the frames that are read.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <string>
#include <vector>

namespace millrace::video {

// In words, of the other streams of `container`, and of what `stream` and its first `picture` say that frames
// have no place for: "1 stream of audio", "rotation by 90 degrees".
[[nodiscard]] std::vector<std::string> unread_content(const AVFormatContext& container,
                                                      const AVStream& stream, const AVFrame& picture);

}  // namespace millrace::video
