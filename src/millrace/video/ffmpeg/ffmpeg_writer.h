// Encodes into .mp4, .mkv and similar files with FFmpeg's libraries.
#pragma once

#include "millrace/base/output_file.h"
#include "millrace/video/ffmpeg/coded_kinds.h"
#include "millrace/video/frame/frame_writer.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace::video {

// The encoding settings that follow from a container, a codec and a frame format.
struct EncoderChoice {
  const Container* container = nullptr;
  const Codec* codec = nullptr;
  int pixel_format = -1;  // AVPixelFormat
  int slices = 0;         // per picture; 0: the encoder's default
  std::string fallback;   // see WrittenAs
};

// If the combination is impossible, returns a usage error that suggests a possible output.
[[nodiscard]] Result<EncoderChoice> choose_encoder(std::string_view output, const Container& container,
                                                   const FrameFormat& format, const WriterOptions& options);

// Leaves the size unset.
[[nodiscard]] WrittenAs written_as(const EncoderChoice& choice);

[[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_ffmpeg_writer(std::unique_ptr<OutputFile> file,
                                                                      const FrameFormat& format,
                                                                      const EncoderChoice& choice,
                                                                      const WriterOptions& options);

}  // namespace millrace::video
