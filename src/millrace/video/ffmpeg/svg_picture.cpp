// Renders SVG.
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/linked_backend.h"

#include <cstring>

namespace millrace::video {
namespace {

std::unexpected<Error> cannot(std::string_view what, int code) {
  return failure("FFmpeg cannot {} it ({})", what, ffmpeg_message(code));
}

Result<FfmpegPtr<AVPacket>> packet_of(const std::string& bytes) {
  FfmpegPtr<AVPacket> packet(av_packet_alloc());
  if (!packet || av_new_packet(packet.get(), static_cast<int>(bytes.size())) < 0)
    return failure("out of memory");
  std::memcpy(packet->data, bytes.data(), bytes.size());
  return packet;
}

// The rendered picture, 4 bytes per pixel.
Result<FfmpegPtr<AVFrame>> drawn(const std::string& svg) {
  const AVCodec* const decoder = avcodec_find_decoder(AV_CODEC_ID_SVG);
  if (decoder == nullptr) return failure("FFmpeg was built without librsvg");
  const FfmpegPtr<AVCodecContext> context(avcodec_alloc_context3(decoder));
  FfmpegPtr<AVFrame> frame(av_frame_alloc());
  const auto packet = packet_of(svg);
  if (!packet) return std::unexpected(packet.error());
  if (!context || !frame) return failure("out of memory");
  int code = avcodec_open2(context.get(), decoder, nullptr);
  if (code >= 0) code = avcodec_send_packet(context.get(), packet->get());
  if (code >= 0) code = avcodec_receive_frame(context.get(), frame.get());
  if (code < 0) return cannot("draw", code);
  return frame;
}

// The picture without its alpha channel.
Result<FfmpegPtr<AVFrame>> without_alpha(const AVFrame& frame) {
  FfmpegPtr<AVFrame> result(av_frame_alloc());
  if (!result) return failure("out of memory");
  result->format = AV_PIX_FMT_RGB24;
  result->width = frame.width;
  result->height = frame.height;
  if (const int code = av_frame_get_buffer(result.get(), 0); code < 0) return cannot("convert", code);
  const FfmpegPtr<SwsContext> converter(
      sws_getContext(frame.width, frame.height, static_cast<AVPixelFormat>(frame.format), frame.width,
                     frame.height, AV_PIX_FMT_RGB24, SWS_POINT, nullptr, nullptr, nullptr));
  if (!converter) return failure("FFmpeg cannot convert its pixels");
  sws_scale(converter.get(), frame.data, frame.linesize, 0, frame.height, result->data, result->linesize);
  return result;
}

}  // namespace

Result<std::vector<std::byte>> LinkedBackend::png_of_svg(const std::string& svg) const {
  const OwnFfmpegCalls own;
  const auto picture = drawn(svg);
  if (!picture) return std::unexpected(picture.error());
  const auto pixels = without_alpha(**picture);
  if (!pixels) return std::unexpected(pixels.error());
  const AVCodec* const encoder = avcodec_find_encoder(AV_CODEC_ID_PNG);
  if (encoder == nullptr) return failure("FFmpeg was built without its PNG encoder");
  const FfmpegPtr<AVCodecContext> context(avcodec_alloc_context3(encoder));
  const FfmpegPtr<AVPacket> packet(av_packet_alloc());
  if (!context || !packet) return failure("out of memory");
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

}  // namespace millrace::video
