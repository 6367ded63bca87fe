// What a file has beside the frames that are read.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <string>
#include <vector>

namespace millrace::video {

// In words, of the other streams, chapters and tags of `container` unless they are taken too, and of what the
// first `picture` of `stream` has that frames have no place for: "1 stream of audio", "alpha".
[[nodiscard]] std::vector<std::string> unread_content(const AVFormatContext& container,
                                                      const AVStream& stream, const AVFrame& picture,
                                                      bool other_streams_taken);

}  // namespace millrace::video
