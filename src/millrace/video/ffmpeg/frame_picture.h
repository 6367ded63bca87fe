// Wraps or converts our frames as FFmpeg pictures.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame.h"

namespace millrace::video {

// Converts frames to a format with other samples.
class FrameScaler {
 public:
  // The formats may differ only in chroma and bits.
  [[nodiscard]] static Result<FrameScaler> make(const FrameFormat& from, const FrameFormat& to);
  void scale(const Frame& from, const Frame& to) const;

 private:
  FfmpegPtr<SwsContext> scaler_;
};

// Makes pictures of one pixel format for an encoder.
class FramePicture {
 public:
  FramePicture() = default;
  // Fails if frames of this format cannot become such pictures, or if memory runs out.
  [[nodiscard]] static Result<FramePicture> make(const FrameFormat& format, AVPixelFormat pixels);

  // Returns the picture of this frame, which must outlive its use. Valid until the next call. Null if memory
  // runs out.
  [[nodiscard]] AVFrame* of(const Frame& frame);

 private:
  FfmpegPtr<AVFrame> picture_;
  FfmpegPtr<SwsContext> scaler_;  // null if planes are passed on
  AVPixelFormat pixels_ = AV_PIX_FMT_NONE;
};

}  // namespace millrace::video
