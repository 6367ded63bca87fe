// Copies FFmpeg's decoded pictures into frames, converting those that have no equal.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/frame/orientation.h"

#include <memory>

namespace millrace::video {

class FrameConverter {
 public:
  FrameConverter() = default;

  // From pictures of these pixels, whose size is the format's, to frames of that format, turned.
  [[nodiscard]] static Result<FrameConverter> make(const FrameFormat& format, AVPixelFormat pixels,
                                                   const Orientation& orientation = {});

  // The picture is of the size and pixel format given to make(), the frame of the format turned. Fails where
  // memory is out.
  [[nodiscard]] Status convert(const AVFrame& picture, Frame& frame);

 private:
  FfmpegPtr<SwsContext> scaler_;  // none where planes are copied
  Orientation orientation_;
  std::unique_ptr<FramePool> unturned_;  // where the scaler writes what is then turned
};

}  // namespace millrace::video
