// Opens what frames are written to: files and pipes.
#pragma once

#include "millrace/video/frame/frame_writer.h"

#include <memory>
#include <string_view>

namespace millrace::video {

// Opens, by name:
//   -         y4m on standard output
//   null      nothing is kept, frames are counted
//   *.y4m     uncompressed, any format; constant frame rate from 0 on: timestamps are not kept,
//             nor color tags other than the range
//   *.mp4     H.264, 8 or 10 bits
//   *.mkv     FFV1, lossless, 8 to 16 bits, no picture of a single row or column; or H.264
// .mp4 and .mkv keep timestamps (.mkv to a millisecond), as of PresentationClock, and color tags. Errors are
// of usage kind for names and combinations, of failure kind for the rest.
[[nodiscard]] Result<std::unique_ptr<FrameWriter>>
open_writer(std::string_view output, const FrameFormat& format, const WriterOptions& options = {});

// The usage errors of open_writer() that do not depend on the format, for those who open it much later.
[[nodiscard]] Status check_output_kind(std::string_view output, VideoCodec codec);

// Whether writing to an output of this name means encoding.
[[nodiscard]] bool is_coded_output(std::string_view output);

}  // namespace millrace::video
