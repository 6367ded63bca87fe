// Encodes into .mp4 and .mkv by the FFmpeg libraries.
#pragma once

#include "millrace/base/output_file.h"
#include "millrace/video/frame/frame_writer.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace::video {

enum class Container { mp4, mkv };

// What a container, a codec and a frame format make together.
struct EncoderChoice {
  Container container = Container::mkv;
  std::string encoder;    // FFmpeg's name
  int pixel_format = -1;  // AVPixelFormat
  int slices = 0;         // of a picture; 0: as the encoder likes
};

// Usage error where the combination is impossible; it names an output that is possible.
[[nodiscard]] Result<EncoderChoice> choose_encoder(std::string_view output, Container container,
                                                   const FrameFormat& format, const WriterOptions& options);

[[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_ffmpeg_writer(std::unique_ptr<OutputFile> file,
                                                                      const FrameFormat& format,
                                                                      const EncoderChoice& choice,
                                                                      const WriterOptions& options);

}  // namespace millrace::video
