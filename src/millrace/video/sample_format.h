// Sample formats by their FFmpeg names.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/frame/frame_reader.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace::video {

// The samples of frames during processing, and the pixel format of the output.
struct SampleFormat {
  Samples samples;
  std::string pixel_format;  // FFmpeg's name
  bool planar = true;        // y4m can hold it, and it needs no conversion
};

// Parses "gray" to "gray16", "yuv420p" to "yuv444p16", "nv12", "p010", "rgb24", "gbrp" to "gbrp16" and
// similar names. RGB is processed as 4:4:4 Y'CbCr with enough extra bits to convert back losslessly.
// Otherwise returns a usage error that suggests the nearest name.
[[nodiscard]] Result<SampleFormat> parse_sample_format(std::string_view name);

// Returns a reader that converts to those samples and keeps range, matrix and everything else. Returns the
// reader itself if no conversion is needed.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> converted(std::unique_ptr<FrameReader> reader,
                                                             const Samples& samples);

}  // namespace millrace::video
