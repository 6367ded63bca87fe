// Formats of samples by the names that FFmpeg gives them.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame/frame_reader.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace::video {

// What frames are while they are processed, and what the output is then made of.
struct SampleFormat {
  Samples samples;
  std::string pixel_format;  // FFmpeg's name
  bool planar = true;        // both are the same, and y4m can hold it
};

// "gray" to "gray16", "yuv420p" to "yuv444p16", "nv12", "p010", "rgb24", "gbrp" to "gbrp16" and the like. RGB
// is processed as Y'CbCr of 4:4:4, with as many more bits as it takes to come back as it was. A usage error
// that names the nearest.
[[nodiscard]] Result<SampleFormat> parse_sample_format(std::string_view name);

// Frames with those samples; range, matrix and all the rest stay. The reader itself where they are already.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> converted(std::unique_ptr<FrameReader> reader,
                                                             const Samples& samples);

}  // namespace millrace::video
