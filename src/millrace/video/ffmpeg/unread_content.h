// Describes the content of a file that is not read.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <string>
#include <vector>

namespace millrace::video {

// Names, in words, the other streams, chapters and tags of `container` unless they are copied too. Also names
// features of the first `picture` of `stream` that frames cannot hold: "1 stream of audio", "alpha".
[[nodiscard]] std::vector<std::string> unread_content(const AVFormatContext& container,
                                                      const AVStream& stream, const AVFrame& picture,
                                                      bool other_streams_taken);

}  // namespace millrace::video
