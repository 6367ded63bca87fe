// Copies FFmpeg's decoded pictures into frames, converting those that have no equal.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame.h"

namespace millrace::video {

class FrameConverter {
 public:
  FrameConverter() = default;

  // From pictures of these pixels, whose size is the format's.
  [[nodiscard]] static Result<FrameConverter> make(const FrameFormat& format, AVPixelFormat pixels);

  // The picture is of the size and pixel format, the frame of the format given to make().
  void convert(const AVFrame& picture, Frame& frame) const;

 private:
  FfmpegPtr<SwsContext> scaler_;  // none where planes are copied
};

}  // namespace millrace::video
