// Opens the output of frames: files and pipes.
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
//   *.mp4     H.264, 8 or 10 bits; or H.265, AV1, VP9
//   *.mkv     H.264 if it can encode the frames, else FFV1 (lossless, 8 to 16 bits, no picture of a single
//             row or column), see written_as(); or any other codec
//   *.mov     H.264, H.265 or ProRes
//   *.webm    VP9 or AV1
//   *.gif     256 fixed colours, times in hundredths of a second
//   a%04d.png pictures, see sequence_writer.h; a.png: one picture
//   *.yuv     the samples alone, plane after plane
// Encoded files keep timestamps (.mkv and .webm to a millisecond) as PresentationClock gives them, and color
// tags; .gif keeps no tags. Errors are of usage kind for names and combinations, of failure kind for the
// rest.
[[nodiscard]] Result<std::unique_ptr<FrameWriter>>
open_writer(std::string_view output, const FrameFormat& format, const WriterOptions& options = {});

// Reports the usage errors of open_writer() that do not depend on the format, for callers that open it much
// later.
[[nodiscard]] Status check_output_kind(std::string_view output, const WriterOptions& options);

// Parses "h264", "h265", ...; otherwise returns a usage error that suggests the nearest name.
[[nodiscard]] Result<VideoCodec> parse_codec(std::string_view name);

// Returns the codec that open_writer() would use, or its usage error, without creating a file.
[[nodiscard]] Result<WrittenAs> check_writer(std::string_view output, const FrameFormat& format,
                                             const WriterOptions& options);

// Whether an output of this name has to be encoded.
[[nodiscard]] bool is_coded_output(std::string_view output);

// The first file written: picture number 1 of a sequence, else the output itself.
[[nodiscard]] std::string first_file_of(const std::string& output);

// Whether its writer takes SideStreams: not for numbered pictures, y4m and 'null'.
[[nodiscard]] bool takes_side_streams(std::string_view output);

}  // namespace millrace::video
