// What a run reads its frames from: a file, a pipe, a generated video, or frames of the caller's own.
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
  std::string name;  // in messages
  // Called once for every pass over the source.
  std::function<Result<std::unique_ptr<video::FrameReader>>(const video::ReaderOptions&)> open;
  bool repeatable = true;  // can be opened again for another pass
  bool coded = false;      // reading it means decoding, which may take threads
  // Has more than frames: what video::ReaderOptions::side_streams takes. Times of the frames may be earlier
  // than those in the file, by so many microseconds.
  bool has_side_streams = false;
  std::optional<std::int64_t> side_start = std::nullopt;
  // Frames come by themselves, as through a pipe, and wait from when they are there; else from when the run
  // takes them up, however far it reads ahead.
  bool live = false;
};

// By the names that video::open_reader takes.
[[nodiscard]] VideoSource file_source(std::string name);

// Gives the next frame of its format, nullopt at the end, an Error where there is none to be had. Called by
// one thread of the run's own; where it waits, a requested stop is to end the wait.
using NextFrame = std::function<Result<std::optional<video::Frame>>(const std::stop_token& stop)>;

// What frames of the caller's have beside their samples if they were made of the frames of another video.
struct FramesOrigin {
  video::SharedProperties properties;  // of the whole video; may be null
  std::string file;                    // with the sound and the other streams that go with them; empty: none
  std::int64_t start = 0;  // microseconds by which the times of the frames are earlier than those in the file
};

// The caller's own frames, for one pass. Frames are numbered as they come; their timestamps stay. `total`:
// how many there will be, where that is known. A frame of another format fails the run. With an origin that
// has a file, a frame without a timestamp gets one: one frame duration after the frame before, or that of
// the first frame in the file.
[[nodiscard]] VideoSource frames_source(const video::FrameFormat& format, NextFrame next,
                                        std::optional<std::int64_t> total = std::nullopt,
                                        FramesOrigin origin = {});

}  // namespace millrace::run
