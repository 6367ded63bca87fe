// Destination of a run's frames: a file, a pipe, nothing, or the caller.
#pragma once

#include "millrace/video/frame/frame_writer.h"

#include <functional>
#include <memory>
#include <string>

namespace millrace::run {

// A value: nothing is opened until the run has begun and knows the format.
struct VideoSink {
  std::string name;  // for messages
  std::function<Result<std::unique_ptr<video::FrameWriter>>(const video::FrameFormat&,
                                                            const video::WriterOptions&)>
      open;
  bool coded = false;               // writing means encoding, which may use threads
  bool takes_side_streams = false;  // also takes the other streams of a file, such as sound
  bool keeps_frames = true;         // false: takes frames without storing them
};

// Names as for video::open_writer.
[[nodiscard]] VideoSink file_sink(std::string name);

// Takes a frame, in order, or fails the run. Calls come from one thread of the run and never overlap. The
// frame is valid during the call, unless it is moved from.
using TakeFrame = std::function<Status(video::Frame& frame)>;

[[nodiscard]] VideoSink frames_sink(TakeFrame take);

}  // namespace millrace::run
