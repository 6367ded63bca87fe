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
//   *.mp4     H.264, 8 or 10 bits; or H.265, AV1, VP9
//   *.mkv     H.264 where it can encode the frames, else FFV1 (lossless, 8 to 16 bits, no picture of a single
//             row or column), which written_as() says; or any other codec
//   *.mov     H.264, H.265 or ProRes
//   *.webm    VP9 or AV1
//   *.gif     256 fixed colours, times in hundredths of a second
//   a%04d.png pictures, see sequence_writer.h; a.png: one picture
//   *.yuv     the samples alone, plane after plane
// Coded files keep timestamps (.mkv and .webm to a millisecond), as of PresentationClock, and color tags,
// .gif apart. Errors are of usage kind for names and combinations, of failure kind for the rest.
[[nodiscard]] Result<std::unique_ptr<FrameWriter>>
open_writer(std::string_view output, const FrameFormat& format, const WriterOptions& options = {});

// The usage errors of open_writer() that do not depend on the format, for those who open it much later.
[[nodiscard]] Status check_output_kind(std::string_view output, const WriterOptions& options);

// "h264", "h265", ...; a usage error that names the nearest.
[[nodiscard]] Result<VideoCodec> parse_codec(std::string_view name);

// What open_writer() would encode with; its usage errors that do not take making a file.
[[nodiscard]] Result<WrittenAs> check_writer(std::string_view output, const FrameFormat& format,
                                             const WriterOptions& options);

// Whether writing to an output of this name means encoding.
[[nodiscard]] bool is_coded_output(std::string_view output);

// The file that is written first: of numbered pictures that of number 1, else the output itself.
[[nodiscard]] std::string first_file_of(const std::string& output);

// Whether its writer takes SideStreams: those of numbered pictures, y4m and 'null' do not.
[[nodiscard]] bool takes_side_streams(std::string_view output);

}  // namespace millrace::video
