#include "millrace/video/ffmpeg/frame_converter.h"

#include "millrace/video/ffmpeg/pixel_format.h"

#include <cstring>
#include <utility>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {

namespace {

void scale(SwsContext* scaler, const AVFrame& picture, const Frame& frame) {
  std::uint8_t* planes[4] = {};
  int strides[4] = {};
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView plane = frame.plane(index);
    planes[index] = plane.row<std::uint8_t>(0);
    strides[index] = static_cast<int>(plane.stride);
  }
  sws_scale(scaler, picture.data, picture.linesize, 0, picture.height, planes, strides);
}

}  // namespace

Result<FrameConverter> FrameConverter::make(const FrameFormat& given, AVPixelFormat pixels,
                                            const Orientation& orientation) {
  FrameConverter converter;
  converter.orientation_ = orientation;
  FrameFormat format = given;
  format.chroma = oriented(given, orientation).chroma;  // chroma before rotation
  const std::optional<PixelMapping> mapping = from_ffmpeg(pixels);
  const std::optional<AVPixelFormat> target = to_ffmpeg(format.chroma, format.bits);
  if (mapping && mapping->same_planes && format.chroma == mapping->chroma && format.bits == mapping->bits)
    return converter;
  if (!orientation.is_upright()) converter.unturned_ = std::make_unique<FramePool>(format);
  const char* name = av_get_pix_fmt_name(pixels);
  if (!mapping || !target || sws_isSupportedInput(pixels) == 0)
    return failure("the pixel format {} is not supported; convert it to yuv420p, yuv422p, yuv444p or gray",
                   name);
  converter.scaler_.reset(sws_getContext(
      format.width, format.height, pixels, format.width, format.height, *target,
      SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP, nullptr, nullptr, nullptr));
  if (!converter.scaler_)
    return failure("the pixel format {} cannot be converted to {}; convert it with ffmpeg first", name,
                   to_string(format));
  // For Y'CbCr only the layout changes, not range or matrix. RGB gets the range and matrix of the format's
  // tags.
  const int full = format.range == ColorRange::full ? 1 : 0;
  const int* matrix = sws_getCoefficients(format.color_matrix);
  constexpr int unchanged = 1 << 16;  // contrast and saturation
  if (sws_setColorspaceDetails(converter.scaler_.get(), matrix, full, matrix, full, 0, unchanged, unchanged) <
          0 &&
      mapping->rgb)
    return failure("the pixel format {} cannot be converted to {}; convert it with ffmpeg first", name,
                   to_string(format));
  return converter;
}

Status FrameConverter::convert(const AVFrame& picture, Frame& frame) {
  if (scaler_ && !unturned_) {
    scale(scaler_.get(), picture, frame);
    return {};
  }
  Frame unturned;
  if (scaler_) {
    Result<Frame> made = unturned_->acquire();
    if (!made) return std::unexpected(std::move(made.error()));
    unturned = *std::move(made);
    scale(scaler_.get(), picture, unturned);
  }
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView to = frame.plane(index);
    PlaneView from{reinterpret_cast<std::byte*>(picture.data[index]), picture.linesize[index], to.width,
                   to.height};
    if (orientation_.transposed) std::swap(from.width, from.height);
    if (scaler_) from = unturned.plane(index);
    const int sample = bytes_per_sample(frame.format());
    if (!orientation_.is_upright()) {
      orient_plane(from, to, sample, orientation_);
      continue;
    }
    for (int y = 0; y < to.height; ++y)
      std::memcpy(to.row<std::byte>(y), from.row<std::byte>(y), static_cast<std::size_t>(to.width) * sample);
  }
  return {};
}

}  // namespace millrace::video
