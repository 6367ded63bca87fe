// What a run gives its frames to: a file, a pipe, nothing, or the caller.
#pragma once

#include "millrace/video/frame/frame_writer.h"

#include <functional>
#include <memory>
#include <string>

namespace millrace::run {

// A value: nothing is opened before the run begins and knows what it will write.
struct VideoSink {
  std::string name;  // in messages
  std::function<Result<std::unique_ptr<video::FrameWriter>>(const video::FrameFormat&,
                                                            const video::WriterOptions&)>
      open;
  bool coded = false;               // writing to it means encoding, which may take threads
  bool takes_side_streams = false;  // what a file has beside its frames goes there, too
  bool keeps_frames = true;         // and does not only take them
};

// By the names that video::open_writer takes.
[[nodiscard]] VideoSink file_sink(std::string name);

// Takes a frame, in order, or fails the run. Called by one thread of the run's own, at most one behind the
// other. The frame lives as long as the call, unless it is moved from, or as long as what it was moved to.
using TakeFrame = std::function<Status(video::Frame& frame)>;

[[nodiscard]] VideoSink frames_sink(TakeFrame take);

}  // namespace millrace::run
