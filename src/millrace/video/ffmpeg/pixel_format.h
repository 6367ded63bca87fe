// FFmpeg's pixel formats and ours.
#pragma once

#include <optional>

extern "C" {
#include <libavutil/pixfmt.h>
}

#include "millrace/video/frame/frame.h"

namespace millrace::video {

// The planar, native-endian format without alpha that holds the same samples; nullopt where FFmpeg has none
// (depths of 11, 13 and 15 bits).
[[nodiscard]] std::optional<AVPixelFormat> to_ffmpeg(Chroma chroma, int bits);

// How a pixel format of FFmpeg becomes one of ours.
struct PixelMapping {
  Chroma chroma = Chroma::c420;
  int bits = 8;
  bool same_planes = false;  // the samples can be copied plane by plane; otherwise they need converting
  bool full_range_name =
      false;         // one of the yuvj formats, whose name alone says full range; or black and white
  bool rgb = false;  // or another color model than Y'CbCr, to which it is converted
  bool same_sampling = false;  // of chroma
};

// The nearest of our formats: no fewer bits, no fewer chroma samples. Alpha is dropped. nullopt where there
// are no samples to be had (hardware surfaces).
[[nodiscard]] std::optional<PixelMapping> from_ffmpeg(AVPixelFormat format);

}  // namespace millrace::video
