// Encodes into .mp4, .mkv and similar files with FFmpeg's libraries.
#pragma once

#include "millrace/base/file/output_file.h"
#include "millrace/video/coded/encoder_choice.h"
#include "millrace/video/frame/frame_writer.h"

#include <memory>
#include <string>
#include <string_view>

namespace millrace::video {

// If the combination is impossible, returns a usage error that suggests a possible output.
[[nodiscard]] Result<EncoderChoice> choose_encoder(std::string_view output, const Container& container,
                                                   const FrameFormat& format, const WriterOptions& options);

[[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_ffmpeg_writer(std::unique_ptr<OutputFile> file,
                                                                      const FrameFormat& format,
                                                                      const EncoderChoice& choice,
                                                                      const WriterOptions& options);

}  // namespace millrace::video
