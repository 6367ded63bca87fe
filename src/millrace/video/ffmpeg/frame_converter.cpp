#include "millrace/video/ffmpeg/frame_converter.h"

#include "millrace/video/ffmpeg/pixel_format.h"

#include <cstring>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {

Result<FrameConverter> FrameConverter::make(const FrameFormat& format, AVPixelFormat pixels) {
  FrameConverter converter;
  const std::optional<PixelMapping> mapping = from_ffmpeg(pixels);
  const std::optional<AVPixelFormat> target = to_ffmpeg(format.chroma, format.bits);
  if (mapping && mapping->same_planes) return converter;
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
  // Of Y'CbCr only the layout changes, and neither range nor matrix. RGB gets those that the format is tagged
  // with.
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

void FrameConverter::convert(const AVFrame& picture, Frame& frame) const {
  if (scaler_) {
    std::uint8_t* planes[4] = {};
    int strides[4] = {};
    for (int index = 0; index < frame.planes(); ++index) {
      const PlaneView plane = frame.plane(index);
      planes[index] = plane.row<std::uint8_t>(0);
      strides[index] = static_cast<int>(plane.stride);
    }
    sws_scale(scaler_.get(), picture.data, picture.linesize, 0, picture.height, planes, strides);
    return;
  }
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView plane = frame.plane(index);
    const std::size_t bytes = static_cast<std::size_t>(plane.width) * bytes_per_sample(frame.format());
    for (int y = 0; y < plane.height; ++y)
      std::memcpy(plane.row<std::byte>(y), picture.data[index] + std::ptrdiff_t{picture.linesize[index]} * y,
                  bytes);
  }
}

}  // namespace millrace::video
