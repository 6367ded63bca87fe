// FrameConverter: copies decoded pictures into frames and converts pixel formats that FrameFormat lacks.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/frame/orientation.h"

#include <memory>

namespace millrace::video {

class FrameConverter {
 public:
  FrameConverter() = default;

  // Converts pictures of this pixel format and the format's size to frames of that format, rotated.
  [[nodiscard]] static Result<FrameConverter> make(const FrameFormat& format, AVPixelFormat pixels,
                                                   const Orientation& orientation = {});

  // The picture must have the size and pixel format given to make(), the frame the rotated format. Fails if
  // memory runs out.
  [[nodiscard]] Status convert(const AVFrame& picture, Frame& frame);

 private:
  FfmpegPtr<SwsContext> scaler_;  // null if planes are copied
  Orientation orientation_;
  std::unique_ptr<FramePool> unturned_;  // destination of the scaler before rotation
};

}  // namespace millrace::video
