// Maps FFmpeg's pixel formats to ours and back.
#pragma once

#include <optional>

extern "C" {
#include <libavutil/pixfmt.h>
}

#include "millrace/video/frame/frame.h"

namespace millrace::video {

// The planar, native-endian format without alpha that holds the same samples. nullopt if FFmpeg has none
// (depths of 11, 13 and 15 bits).
[[nodiscard]] std::optional<AVPixelFormat> to_ffmpeg(Chroma chroma, int bits);

// How an FFmpeg pixel format becomes one of ours.
struct PixelMapping {
  Chroma chroma = Chroma::c420;
  int bits = 8;
  bool same_planes = false;      // the samples can be copied plane by plane; otherwise they need conversion
  bool full_range_name = false;  // a yuvj format, whose name alone implies full range; or black and white
  bool rgb = false;              // or another color model than Y'CbCr, and therefore converted
  bool same_sampling = false;    // of chroma
};

// The nearest of our formats: no fewer bits and no fewer chroma samples. Alpha is dropped. nullopt if samples
// are not accessible (hardware surfaces).
[[nodiscard]] std::optional<PixelMapping> from_ffmpeg(AVPixelFormat format);

}  // namespace millrace::video
