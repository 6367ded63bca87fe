// Encodes into .mp4, .mkv and the like by the FFmpeg libraries.
#pragma once

#include "millrace/base/output_file.h"
#include "millrace/video/ffmpeg/coded_kinds.h"
#include "millrace/video/frame/frame_writer.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace::video {

// What a container, a codec and a frame format make together.
struct EncoderChoice {
  const Container* container = nullptr;
  const Codec* codec = nullptr;
  int pixel_format = -1;  // AVPixelFormat
  int slices = 0;         // of a picture; 0: as the encoder likes
  std::string fallback;   // as of WrittenAs
};

// Usage error where the combination is impossible; it names an output that is possible.
[[nodiscard]] Result<EncoderChoice> choose_encoder(std::string_view output, const Container& container,
                                                   const FrameFormat& format, const WriterOptions& options);

// Without the size.
[[nodiscard]] WrittenAs written_as(const EncoderChoice& choice);

[[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_ffmpeg_writer(std::unique_ptr<OutputFile> file,
                                                                      const FrameFormat& format,
                                                                      const EncoderChoice& choice,
                                                                      const WriterOptions& options);

}  // namespace millrace::video
