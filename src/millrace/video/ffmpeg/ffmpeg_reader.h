// Reads whatever the FFmpeg libraries read.
#pragma once

#include "millrace/base/input_file.h"
#include "millrace/video/frame/frame_reader.h"

#include <memory>

namespace millrace::video {

// Decodes the first frame already, because only a decoded frame tells the format for certain.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> open_ffmpeg_reader(std::unique_ptr<InputFile> file,
                                                                      const ReaderOptions& options);

}  // namespace millrace::video
