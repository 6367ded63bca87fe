// Makes thumbnails.
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/linked_backend.h"
#include "millrace/video/ffmpeg/pixel_format.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::video {
namespace {

constexpr int scaling = SWS_AREA | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT;
constexpr int unchanged = 1 << 16;  // contrast and saturation

FfmpegPtr<AVFrame> make_picture(int width, int height, AVPixelFormat pixels) {
  FfmpegPtr<AVFrame> picture(av_frame_alloc());
  if (!picture) return picture;
  picture->width = width;
  picture->height = height;
  picture->format = pixels;
  if (av_frame_get_buffer(picture.get(), 0) < 0) picture.reset();
  return picture;
}

// Size for display.
std::pair<int, int> shown_size(const FrameFormat& format, int side) {
  double width = format.width;
  double height = format.height;
  if (format.aspect_numerator > 0 && format.aspect_denominator > 0) {
    const double aspect = static_cast<double>(format.aspect_numerator) / format.aspect_denominator;
    if (aspect > 1)
      height /= aspect;
    else
      width *= aspect;
  }
  const double factor = std::min(1.0, side / std::max(width, height));
  const auto pixels = [factor, side](double length) {
    return std::clamp(static_cast<int>(std::lround(length * factor)), 1, side);
  };
  return {pixels(width), pixels(height)};
}

// Converts through RGB, because the matrix of a video rarely is that of JPEG.
FfmpegPtr<AVFrame> small_picture(const Frame& frame, AVPixelFormat pixels, int width, int height) {
  const FrameFormat& format = frame.format();
  FfmpegPtr<AVFrame> rgb = make_picture(width, height, AV_PIX_FMT_RGB24);
  FfmpegPtr<AVFrame> result = make_picture(width, height, AV_PIX_FMT_YUVJ420P);
  const FfmpegPtr<SwsContext> to_rgb(sws_getContext(format.width, format.height, pixels, width, height,
                                                    AV_PIX_FMT_RGB24, scaling, nullptr, nullptr, nullptr));
  const FfmpegPtr<SwsContext> to_jpeg(sws_getContext(width, height, AV_PIX_FMT_RGB24, width, height,
                                                     AV_PIX_FMT_YUVJ420P, scaling, nullptr, nullptr,
                                                     nullptr));
  if (!rgb || !result || !to_rgb || !to_jpeg) return nullptr;
  const int* const rgb_matrix = sws_getCoefficients(SWS_CS_DEFAULT);
  sws_setColorspaceDetails(to_rgb.get(), sws_getCoefficients(format.color_matrix),
                           format.range == ColorRange::full ? 1 : 0, rgb_matrix, 1, 0, unchanged, unchanged);
  const std::uint8_t* planes[4] = {};
  int strides[4] = {};
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView plane = frame.plane(index);
    planes[index] = plane.row<const std::uint8_t>(0);
    strides[index] = static_cast<int>(plane.stride);
  }
  sws_scale(to_rgb.get(), planes, strides, 0, format.height, rgb->data, rgb->linesize);
  sws_scale(to_jpeg.get(), rgb->data, rgb->linesize, 0, height, result->data, result->linesize);
  return result;
}

}  // namespace

Result<Thumbnail> LinkedBackend::make_thumbnail(const Frame& frame, int side) const {
  const OwnFfmpegCalls own;
  const auto [width, height] = shown_size(frame.format(), side);
  const auto pixels = to_ffmpeg(frame.format().chroma, frame.format().bits);
  FfmpegPtr<AVFrame> picture = pixels ? small_picture(frame, *pixels, width, height) : nullptr;
  const AVCodec* const codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  FfmpegPtr<AVCodecContext> encoder(codec != nullptr ? avcodec_alloc_context3(codec) : nullptr);
  FfmpegPtr<AVPacket> packet(av_packet_alloc());
  if (!picture || !encoder || !packet)
    return failure("no small picture can be made of {}", to_string(frame.format()));
  encoder->width = width;
  encoder->height = height;
  encoder->pix_fmt = AV_PIX_FMT_YUVJ420P;
  encoder->color_range = AVCOL_RANGE_JPEG;
  encoder->time_base = {1, 25};
  encoder->thread_count = 1;
  encoder->flags |= AV_CODEC_FLAG_QSCALE;
  encoder->global_quality = 4 * FF_QP2LAMBDA;
  picture->quality = encoder->global_quality;
  picture->pts = 0;
  int done = avcodec_open2(encoder.get(), codec, nullptr);
  if (done >= 0) done = avcodec_send_frame(encoder.get(), picture.get());
  if (done >= 0) done = avcodec_send_frame(encoder.get(), nullptr);
  if (done >= 0) done = avcodec_receive_packet(encoder.get(), packet.get());
  if (done < 0) return failure("no small picture can be made: {}", ffmpeg_message(done));
  return Thumbnail{.width = width, .height = height, .jpeg = {packet->data, packet->data + packet->size}};
}

}  // namespace millrace::video
