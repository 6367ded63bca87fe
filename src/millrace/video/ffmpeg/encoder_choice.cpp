#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_writer.h"
#include "millrace/video/ffmpeg/pixel_format.h"

#include <algorithm>

namespace millrace::video {
namespace {

bool encodes(const AVCodec& codec, AVPixelFormat format) {
  for (const AVPixelFormat* each = codec.pix_fmts; each != nullptr && *each != AV_PIX_FMT_NONE; ++each)
    if (*each == format) return true;
  return false;
}

}  // namespace

Result<EncoderChoice> choose_encoder(std::string_view output, Container container, const FrameFormat& format,
                                     const WriterOptions& options) {
  const bool ffv1 = options.codec == VideoCodec::ffv1 ||
                    (options.codec == VideoCodec::automatic && container == Container::mkv);
  if (options.encoder_threads < 1)
    return usage_error("encoder threads: {} is too few; 1 is the least", options.encoder_threads);
  if (options.crf < 0 || options.crf > 51)
    return usage_error("crf: {} is not from 0 (best) to 51", options.crf);
  if (ffv1 && container == Container::mp4)
    return usage_error("{}: FFV1 does not go into .mp4; use .mkv", output);

  EncoderChoice choice{container, ffv1 ? "ffv1" : "libx264", -1};
  const AVCodec* codec = avcodec_find_encoder_by_name(choice.encoder.c_str());
  if (codec == nullptr)
    return usage_error("{}: this build of FFmpeg has no encoder {}; use {}", output, choice.encoder,
                       ffv1 ? ".y4m" : ".mkv with FFV1, or .y4m");
  const char* instead = ffv1 ? ".y4m" : ".mkv with FFV1, or .y4m";
  const std::optional<AVPixelFormat> pixels = to_ffmpeg(format.chroma, format.bits);
  if (!pixels || !encodes(*codec, *pixels))
    return usage_error("{}: {} cannot take {}; use {}", output, ffv1 ? "FFV1" : "H.264", to_string(format),
                       instead);
  if (!ffv1 &&
      (format.width % chroma_step_x(format.chroma) != 0 || format.height % chroma_step_y(format.chroma) != 0))
    return usage_error("{}: H.264 with this chroma cannot take the odd size of {}; use {}", output,
                       to_string(format), instead);
  if (!ffv1 && (format.width > 16384 || format.height > 16384))
    return usage_error("{}: H.264 cannot take {}, 16384 samples a side are the most; use {}", output,
                       to_string(format), instead);
  if (ffv1) {
    // FFmpeg encodes slices of a single row or column, but does not decode them right. Small pictures are one
    // slice; of larger ones the encoder makes up to four in a row or column.
    const bool small = format.width <= 352 && format.height <= 288;
    const int least = small ? 2 : 8;
    if (format.width < least || format.height < least)
      return usage_error("{}: FFV1 cannot take pictures as thin as {}; use {}", output, to_string(format),
                         instead);
    choice.slices = small ? 1 : 0;
  }
  choice.pixel_format = *pixels;
  return choice;
}

}  // namespace millrace::video
