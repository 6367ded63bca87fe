// Reads whatever the FFmpeg libraries read.
#pragma once

#include "millrace/base/input_file.h"
#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace millrace::video {

// Frames of the same video that were read before, from other files: what they are, which those of this file
// become, and how many they are.
struct EarlierFrames {
  FrameFormat format;
  std::int64_t count = 0;
};

// Decodes the first frame already, because only a decoded frame tells the format for certain. Whatever a
// later one says otherwise is refused, converted or named by unread(): "sample shape from frame 25 on (4:3
// after 1:1)".
[[nodiscard]] Result<std::unique_ptr<FrameReader>>
open_ffmpeg_reader(std::unique_ptr<InputFile> file, const ReaderOptions& options,
                   const std::optional<EarlierFrames>& earlier = std::nullopt);

}  // namespace millrace::video
