// Opens what frames are read from: files, pipes, generated video.
#pragma once

#include "millrace/video/frame/frame_reader.h"

#include <memory>
#include <string_view>

namespace millrace::video {

// Opens, by name:
//   -                        y4m on standard input
//   test:WIDTHxHEIGHT...     generated, see test_source.h
//   anything else            a file (or named pipe): *.y4m by the parser of y4m_reader.h, others by FFmpeg
// Pixel formats without equal in FrameFormat are converted to the nearest: RGB and palettes to 4:4:4, packed,
// big-endian and semi-planar ones to their planar equivalent, 4:1:1 to 4:2:2, 4:1:0 to 4:2:0, 4:4:0 to 4:4:4;
// alpha is dropped. Errors are of usage kind for names, of failure kind for content. FFmpeg's own messages
// are silenced for the whole process: what matters in them comes as an Error.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> open_reader(std::string_view input,
                                                               const ReaderOptions& options = {});

// Whether reading an input of this name means decoding.
[[nodiscard]] bool is_coded_input(std::string_view input);

}  // namespace millrace::video
