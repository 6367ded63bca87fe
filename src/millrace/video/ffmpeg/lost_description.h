// Names the parts of a file's description that its container did not keep: attachments, chapters, tags,
// dispositions.
#pragma once

#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::video {

// Muxers silently leave out what they have no place for, and each FFmpeg version leaves out something else.
// So this reads the written file back and compares.
//
// muxer: what was to be written, after its trailer. names: of its streams, by index. suffix: names the
// container in messages, such as ".mp4". Returns nothing if the file cannot be read back.
[[nodiscard]] std::vector<std::string> lost_description(const AVFormatContext& muxer, RandomBytes& file,
                                                        std::uint64_t size,
                                                        const std::map<int, std::string>& names,
                                                        std::string_view suffix);

}  // namespace millrace::video
