#include "millrace/video/ffmpeg/frame_picture.h"

#include "millrace/video/ffmpeg/pixel_format.h"

#include <utility>

extern "C" {
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

constexpr int flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;

// Range and matrix stay the same, but RGB and the JPEG formats always have full range. Ranges must be set
// before initialisation: for sources above 8 bits, swscale ignores later changes.
FfmpegPtr<SwsContext> make_scaler(const FrameFormat& format, AVPixelFormat from, AVPixelFormat to) {
  const auto mapping = from_ffmpeg(to);
  const bool rgb = mapping && mapping->rgb;
  const int full = format.range == ColorRange::full ? 1 : 0;
  const int full_after = mapping && mapping->full_range_name ? 1 : full;
  FfmpegPtr<SwsContext> scaler(sws_alloc_context());
  if (!scaler) return scaler;
  const std::pair<const char*, int> options[] = {{"srcw", format.width},  {"srch", format.height},
                                                 {"src_format", from},    {"dstw", format.width},
                                                 {"dsth", format.height}, {"dst_format", to},
                                                 {"src_range", full},     {"dst_range", rgb ? 0 : full_after},
                                                 {"sws_flags", flags}};
  for (const auto& [name, value] : options)
    av_opt_set_int(scaler.get(), name, value, 0);
  if (sws_init_context(scaler.get(), nullptr, nullptr) < 0) return nullptr;
  const int* matrix = sws_getCoefficients(format.color_matrix);
  constexpr int unchanged = 1 << 16;  // contrast and saturation
  sws_setColorspaceDetails(scaler.get(), matrix, full, matrix, rgb ? 1 : full_after, 0, unchanged, unchanged);
  return scaler;
}

struct Planes {
  std::uint8_t* data[4] = {};
  int strides[4] = {};
};

Planes planes_of(const Frame& frame) {
  Planes planes;
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView plane = frame.plane(index);
    planes.data[index] = plane.row<std::uint8_t>(0);
    planes.strides[index] = static_cast<int>(plane.stride);
  }
  return planes;
}

}  // namespace

Result<FrameScaler> FrameScaler::make(const FrameFormat& from, const FrameFormat& to) {
  const auto before = to_ffmpeg(from.chroma, from.bits);
  const auto after = to_ffmpeg(to.chroma, to.bits);
  FrameScaler result;
  if (before && after) result.scaler_ = make_scaler(from, *before, *after);
  if (!result.scaler_)
    return usage_error("{} cannot be converted to {}; choose another --format", to_string(from),
                       to_string(to));
  return result;
}

void FrameScaler::scale(const Frame& from, const Frame& to) const {
  const Planes source = planes_of(from);
  const Planes target = planes_of(to);
  sws_scale(scaler_.get(), source.data, source.strides, 0, from.format().height, target.data, target.strides);
}

Result<FramePicture> FramePicture::make(const FrameFormat& format, AVPixelFormat pixels) {
  FramePicture result;
  result.pixels_ = pixels;
  result.picture_.reset(av_frame_alloc());
  if (!result.picture_) return failure("out of memory for a picture");
  const auto own = to_ffmpeg(format.chroma, format.bits);
  if (own == pixels) return result;
  if (own) result.scaler_ = make_scaler(format, *own, pixels);
  if (!result.scaler_)
    return usage_error("{} cannot be converted to {}; choose another --format", to_string(format),
                       av_get_pix_fmt_name(pixels));
  return result;
}

AVFrame* FramePicture::of(const Frame& frame) {
  AVFrame* const picture = picture_.get();
  av_frame_unref(picture);
  picture->format = pixels_;
  picture->width = frame.format().width;
  picture->height = frame.format().height;
  const Planes planes = planes_of(frame);
  if (!scaler_) {
    // Not reference-counted, so the encoder copies the data it keeps.
    for (int index = 0; index < frame.planes(); ++index) {
      picture->data[index] = planes.data[index];
      picture->linesize[index] = planes.strides[index];
    }
    return picture;
  }
  if (av_frame_get_buffer(picture, 0) < 0) return nullptr;
  sws_scale(scaler_.get(), planes.data, planes.strides, 0, picture->height, picture->data, picture->linesize);
  return picture;
}

}  // namespace millrace::video
