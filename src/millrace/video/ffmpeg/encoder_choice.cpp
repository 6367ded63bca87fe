#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/video/coded/coded_kinds.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_writer.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/ffmpeg/versions.h"

#include <algorithm>

#include <fmt/ranges.h>

extern "C" {
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

bool encodes(const AVCodec& codec, AVPixelFormat format) {
  const AVPixelFormat* const formats = pixel_formats_of(codec);
  if (formats == nullptr) return true;  // accepts any format
  for (const AVPixelFormat* each = formats; *each != AV_PIX_FMT_NONE; ++each)
    if (*each == format) return true;
  return false;
}

Status check_quality(std::string_view output, const Codec& codec, const WriterOptions& options) {
  if (options.crf && codec.most_crf == 0)
    return usage_error("{}: {} has no crf; leave it out, or choose another codec", output, codec.title);
  if (options.crf && (*options.crf < 0 || *options.crf > codec.most_crf))
    return usage_error("{}: crf {} is not from 0 (best) to {}, as {} has it", output, *options.crf,
                       codec.most_crf, codec.title);
  if (options.bitrate && !codec.bitrate)
    return usage_error("{}: {} takes the room it needs and no bitrate; leave it out, or choose another codec",
                       output, codec.title);
  if (options.bitrate && *options.bitrate < 1) return usage_error("{}: a bitrate is more than 0", output);
  if (options.bitrate && options.crf)
    return usage_error("{}: give either a quality (crf) or a bitrate, not both", output);
  if (options.preset.empty()) return {};
  if (codec.presets.empty())
    return usage_error("{}: {} has no presets; leave the preset out, or choose another codec", output,
                       codec.title);
  if (std::ranges::find(codec.presets, options.preset) == codec.presets.end())
    return usage_error("{}: {} has no preset {}{}; it has {}", output, codec.title, in_quotes(options.preset),
                       did_you_mean(options.preset, codec.presets), fmt::join(codec.presets, ", "));
  return {};
}

// Names of the encoder's options.
std::vector<std::string_view> option_names(AVCodecContext& context) {
  std::vector<std::string_view> names;
  for (void* of : {static_cast<void*>(&context), context.priv_data}) {
    if (of == nullptr || *static_cast<const AVClass**>(of) == nullptr) continue;
    const AVOption* option = nullptr;
    while ((option = av_opt_next(of, option)) != nullptr)
      if (option->type != AV_OPT_TYPE_CONST && (option->flags & AV_OPT_FLAG_ENCODING_PARAM) != 0)
        names.emplace_back(option->name);
  }
  return names;
}

Status check_encoder_options(std::string_view output, const Codec& kind, const AVCodec& codec,
                             const WriterOptions& options) {
  if (options.encoder_options.empty()) return {};
  FfmpegPtr<AVCodecContext> context(avcodec_alloc_context3(&codec));
  if (!context) return failure("{}: out of memory", output);
  const std::vector<std::string_view> names = option_names(*context);
  for (const auto& [name, value] : options.encoder_options) {
    if (std::ranges::find(names, name) == names.end())
      return usage_error("{}: the encoder {} has no option {}{}; 'ffmpeg -h encoder={}' lists them", output,
                         kind.encoder, in_quotes(name), did_you_mean(name, names), kind.encoder);
    if (av_opt_set(context.get(), name.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN) < 0)
      return usage_error(
          "{}: '{}' is not a value of the option {} of the encoder {}; 'ffmpeg -h encoder={}' lists them",
          output, in_quotes(value), in_quotes(name), kind.encoder, kind.encoder);
  }
  return {};
}

// Refuses sizes that FFmpeg's encoder rejects or encodes wrongly.
Status check_size(std::string_view output, const Codec& codec, const FrameFormat& format,
                  const char* instead) {
  const bool halves = codec.codec == VideoCodec::h264 || codec.codec == VideoCodec::h265;
  if (halves &&
      (format.width % chroma_step_x(format.chroma) != 0 || format.height % chroma_step_y(format.chroma) != 0))
    return usage_error("{}: {} with this chroma cannot take the odd size of {}; use {}", output, codec.title,
                       to_string(format), instead);
  const bool has_limit = halves || codec.codec == VideoCodec::vp9;
  if (has_limit && (format.width > 16384 || format.height > 16384))
    return usage_error("{}: {} cannot take {}, 16384 samples a side are the most; use {}", output,
                       codec.title, to_string(format), instead);
  if (codec.codec == VideoCodec::av1 && (format.width < 64 || format.height < 64))
    return usage_error("{}: AV1 cannot take {}, 64 samples a side are the least; use {}", output,
                       to_string(format), instead);
  // FFmpeg encodes slices of a single row or column, but decodes them wrongly. Small pictures are one slice;
  // larger ones have up to four per row or column.
  const int least = format.width <= 352 && format.height <= 288 ? 2 : 8;
  if (codec.codec == VideoCodec::ffv1 && (format.width < least || format.height < least))
    return usage_error("{}: FFV1 cannot take pictures as thin as {}; use {}", output, to_string(format),
                       instead);
  return {};
}

// Returns the pixel format for the encoder: the requested one, or that of the frames.
Result<AVPixelFormat> choose_pixels(std::string_view output, const Codec& kind, const AVCodec& codec,
                                    const FrameFormat& format, const WriterOptions& options,
                                    const char* instead) {
  if (!options.pixel_format.empty()) {
    const AVPixelFormat asked = av_get_pix_fmt(options.pixel_format.c_str());
    if (asked != AV_PIX_FMT_NONE && encodes(codec, asked)) return asked;
    return usage_error("{}: {} cannot take the format {}; use another --format{}", output, kind.title,
                       options.pixel_format,
                       kind.codec == VideoCodec::ffv1 ? ", gbrp16 for RGB" : fmt::format(", or {}", instead));
  }
  if (kind.codec == VideoCodec::gif) return AV_PIX_FMT_BGR8;  // 256 evenly spread colours
  const std::optional<AVPixelFormat> pixels = to_ffmpeg(format.chroma, format.bits);
  if (pixels && encodes(codec, *pixels)) return *pixels;
  const char* other = kind.codec == VideoCodec::prores ? "--format yuv422p10" : instead;
  return usage_error("{}: {} cannot take {}; use {}", output, kind.title, to_string(format), other);
}

// Chooses for one codec.
Result<EncoderChoice> choose_encoder_of(std::string_view output, const Container& container,
                                        const Codec& kind, const FrameFormat& format,
                                        const WriterOptions& options) {
  const bool lossless = kind.codec == VideoCodec::ffv1;
  const char* instead = lossless ? ".y4m" : ".mkv with FFV1, or .y4m";
  const AVCodec* codec = avcodec_find_encoder_by_name(kind.encoder);
  if (codec == nullptr)
    return usage_error("{}: this build of FFmpeg has no encoder {}; use {}", output, kind.encoder, instead);
  const AVOutputFormat* const muxer = av_guess_format(container.muxer, nullptr, nullptr);
  if (muxer == nullptr)
    return usage_error("{}: this build of FFmpeg does not write {}; use .y4m", output, container.suffix);
  // FFmpeg writes raw pixel formats to .mov that no program reads. It refuses VP9 and AV1 in .mov only once
  // it has begun.
  const bool unreadable = kind.codec == VideoCodec::rawvideo && container.iso;
  const bool refused =
      container.suffix == ".mov" && (kind.codec == VideoCodec::vp9 || kind.codec == VideoCodec::av1);
  if (unreadable || refused || avformat_query_codec(muxer, codec->id, FF_COMPLIANCE_NORMAL) != 1)
    return usage_error("{}: {} does not go into {}; use {}", output, kind.title, container.suffix,
                       kind.codec == VideoCodec::gif ? ".gif" : ".mkv");
  if (Status quality = check_quality(output, kind, options); !quality)
    return std::unexpected(quality.error());
  if (Status known = check_encoder_options(output, kind, *codec, options); !known)
    return std::unexpected(known.error());
  const auto pixels = choose_pixels(output, kind, *codec, format, options, instead);
  if (!pixels) return std::unexpected(pixels.error());
  if (Status size = check_size(output, kind, format, instead); !size) return std::unexpected(size.error());
  if (kind.codec == VideoCodec::rawvideo && container.matroska && avcodec_pix_fmt_to_codec_tag(*pixels) == 0)
    return usage_error("{}: {} has no name for raw video of {}; use .yuv, or --codec ffv1", output,
                       container.suffix, av_get_pix_fmt_name(*pixels));
  EncoderChoice choice{.container = &container, .codec = &kind, .pixel_format = *pixels};
  if (lossless && format.width <= 352 && format.height <= 288) choice.slices = 1;
  return choice;
}

// Whether the user chose encoder settings, which apply to one codec only and rule out a fallback.
bool says_how_to_encode(const WriterOptions& options) {
  return options.codec != VideoCodec::automatic || options.crf || options.bitrate ||
         !options.preset.empty() || !options.encoder_options.empty();
}

// Returns "out.mkv: H.264 cannot take ..." from a message that ends with advice.
std::string_view without_advice(std::string_view message) { return message.substr(0, message.rfind(';')); }

}  // namespace

Result<EncoderChoice> choose_encoder(std::string_view output, const Container& container,
                                     const FrameFormat& format, const WriterOptions& options) {
  if (options.encoder_threads < 1)
    return usage_error("encoder threads: {} is too few; 1 is the least", options.encoder_threads);
  const auto usual =
      choose_encoder_of(output, container, codec_for(container, options.codec), format, options);
  if (usual || says_how_to_encode(options) || container.fallback == VideoCodec::automatic) return usual;
  auto other = choose_encoder_of(output, container, kind_of(container.fallback), format, options);
  if (other)
    other->fallback = fmt::format("{}; encoded with {} instead", without_advice(usual.error().message),
                                  written_as(*other).title);
  return other;
}

}  // namespace millrace::video
