#include "millrace/cli/model/model_plot.h"

#include "millrace/base/whole_file.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace millrace::cli {
namespace {

using video::FfmpegPtr;

std::unexpected<Error> cannot(std::string_view what, int code) {
  return failure("cannot {} the plot: {}", what, video::ffmpeg_message(code));
}

Result<FfmpegPtr<AVPacket>> packet_of(const std::string& bytes) {
  FfmpegPtr<AVPacket> packet(av_packet_alloc());
  if (!packet || av_new_packet(packet.get(), static_cast<int>(bytes.size())) < 0)
    return failure("not enough memory for the plot");
  std::memcpy(packet->data, bytes.data(), bytes.size());
  return packet;
}

// The rendered picture, 4 bytes per pixel.
Result<FfmpegPtr<AVFrame>> drawn(const std::string& svg) {
  const AVCodec* const decoder = avcodec_find_decoder(AV_CODEC_ID_SVG);
  if (decoder == nullptr)
    return failure(
        "FFmpeg was built without librsvg, which draws a .png; give --plot a name that ends in .svg");
  const FfmpegPtr<AVCodecContext> context(avcodec_alloc_context3(decoder));
  FfmpegPtr<AVFrame> frame(av_frame_alloc());
  const auto packet = packet_of(svg);
  if (!packet) return std::unexpected(packet.error());
  if (!context || !frame) return failure("not enough memory for the plot");
  int code = avcodec_open2(context.get(), decoder, nullptr);
  if (code >= 0) code = avcodec_send_packet(context.get(), packet->get());
  if (code >= 0) code = avcodec_receive_frame(context.get(), frame.get());
  if (code < 0) return cannot("draw", code);
  return frame;
}

// The picture without its alpha channel; plots are opaque.
Result<FfmpegPtr<AVFrame>> opaque(const AVFrame& frame) {
  FfmpegPtr<AVFrame> result(av_frame_alloc());
  if (!result) return failure("not enough memory for the plot");
  result->format = AV_PIX_FMT_RGB24;
  result->width = frame.width;
  result->height = frame.height;
  if (const int code = av_frame_get_buffer(result.get(), 0); code < 0) return cannot("convert", code);
  const FfmpegPtr<SwsContext> converter(
      sws_getContext(frame.width, frame.height, static_cast<AVPixelFormat>(frame.format), frame.width,
                     frame.height, AV_PIX_FMT_RGB24, SWS_POINT, nullptr, nullptr, nullptr));
  if (!converter) return failure("cannot convert the plot's pixels");
  sws_scale(converter.get(), frame.data, frame.linesize, 0, frame.height, result->data, result->linesize);
  return result;
}

Result<std::vector<std::byte>> png_of(const std::string& svg) {
  if (Status loaded = video::hear_ffmpeg(); !loaded) return std::unexpected(std::move(loaded.error()));
  const auto picture = drawn(svg);
  if (!picture) return std::unexpected(picture.error());
  const auto pixels = opaque(**picture);
  if (!pixels) return std::unexpected(pixels.error());
  const AVCodec* const encoder = avcodec_find_encoder(AV_CODEC_ID_PNG);
  if (encoder == nullptr)
    return failure("FFmpeg was built without its PNG encoder; give --plot a name that ends in .svg");
  const FfmpegPtr<AVCodecContext> context(avcodec_alloc_context3(encoder));
  const FfmpegPtr<AVPacket> packet(av_packet_alloc());
  if (!context || !packet) return failure("not enough memory for the plot");
  context->width = (*pixels)->width;
  context->height = (*pixels)->height;
  context->pix_fmt = AV_PIX_FMT_RGB24;
  context->time_base = {1, 1};
  int code = avcodec_open2(context.get(), encoder, nullptr);
  if (code >= 0) code = avcodec_send_frame(context.get(), pixels->get());
  if (code >= 0) code = avcodec_receive_packet(context.get(), packet.get());
  if (code < 0) return cannot("encode", code);
  const auto bytes = std::as_bytes(std::span(packet->data, static_cast<std::size_t>(packet->size)));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace

Status check_plot_name(const std::string& path) {
  if (path.ends_with(".svg") || path.ends_with(".png")) return {};
  return usage_error("--plot {} must end in .svg or .png", path);
}

Status write_plot(const std::string& path, const std::string& svg, Overwrite overwrite) {
  if (!path.ends_with(".png")) return write_whole(path, svg, {.overwrite = overwrite});
  const auto png = png_of(svg);
  if (!png) return std::unexpected(png.error());
  return write_whole(path, *png, {.overwrite = overwrite});
}

}  // namespace millrace::cli
