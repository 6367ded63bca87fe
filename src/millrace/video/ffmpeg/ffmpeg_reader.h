// Reads every format that FFmpeg's libraries can read.
#pragma once

#include "millrace/base/file/input_file.h"
#include "millrace/video/ffmpeg_backend.h"
#include "millrace/video/frame/frame_reader.h"

#include <memory>
#include <optional>

namespace millrace::video {

// Decodes the first frame at once, because only a decoded frame shows the format reliably. Later frames that
// differ are refused, converted or reported by unread(): "sample shape from frame 25 on (4:3 after 1:1)".
[[nodiscard]] Result<std::unique_ptr<FrameReader>>
open_ffmpeg_reader(std::unique_ptr<InputFile> file, const ReaderOptions& options,
                   const std::optional<EarlierFrames>& earlier = std::nullopt);

}  // namespace millrace::video
