// Source of a run's frames: a file, a pipe, a generated video, or the caller.
#pragma once

#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace millrace::run {

// A value: nothing is opened before the run begins.
struct VideoSource {
  std::string name;  // for messages
  // Called once for every pass over the source.
  std::function<Result<std::unique_ptr<video::FrameReader>>(const video::ReaderOptions&)> open;
  bool repeatable = true;  // can be opened again for another pass
  bool coded = false;      // reading means decoding, which may use threads
  // Has other streams than frames, as for video::ReaderOptions::side_streams. side_start: microseconds by
  // which frame times are earlier than the file's.
  bool has_side_streams = false;
  std::optional<std::int64_t> side_start = std::nullopt;
  // Frames arrive on their own schedule, as through a pipe, and wait from their arrival on. Otherwise a frame
  // waits from when the run takes it up, however far it reads ahead.
  bool live = false;
};

// Names as for video::open_reader.
[[nodiscard]] VideoSource file_source(std::string name);

// Returns the next frame, nullopt at the end, or an Error. Called by one thread of the run. A stop request
// must end its wait.
using NextFrame = std::function<Result<std::optional<video::Frame>>(const std::stop_token& stop)>;

// Properties that the caller's frames inherit if they were made from another video.
struct FramesOrigin {
  video::SharedProperties properties;  // of the whole video; may be null
  std::string file;                    // file with the sound and other streams; empty: none
  std::int64_t start = 0;              // microseconds by which frame times are earlier than those in the file
};

// The caller's own frames, for one pass. They are numbered in order and keep their timestamps. `total`:
// number of frames, if known. A frame of another format fails the run. If the origin has a file, a frame
// without a timestamp gets one: one frame duration after the previous frame, or that of the file's first
// frame.
[[nodiscard]] VideoSource frames_source(const video::FrameFormat& format, NextFrame next,
                                        std::optional<std::int64_t> total = std::nullopt,
                                        FramesOrigin origin = {});

}  // namespace millrace::run
