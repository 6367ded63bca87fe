// Frames of ours as FFmpeg's pictures.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame.h"

namespace millrace::video {

// From frames of one format to frames of another that has other samples.
class FrameScaler {
 public:
  // The formats differ in chroma and bits alone.
  [[nodiscard]] static Result<FrameScaler> make(const FrameFormat& from, const FrameFormat& to);
  void scale(const Frame& from, const Frame& to) const;

 private:
  FfmpegPtr<SwsContext> scaler_;
};

// Pictures of one pixel format for an encoder.
class FramePicture {
 public:
  FramePicture() = default;
  // Fails where frames of this format cannot become such pictures, or memory is out.
  [[nodiscard]] static Result<FramePicture> make(const FrameFormat& format, AVPixelFormat pixels);

  // Of this frame, which must outlive its use; valid until the next call. Null where memory is out.
  [[nodiscard]] AVFrame* of(const Frame& frame);

 private:
  FfmpegPtr<AVFrame> picture_;
  FfmpegPtr<SwsContext> scaler_;  // none where planes are passed on
  AVPixelFormat pixels_ = AV_PIX_FMT_NONE;
};

}  // namespace millrace::video
