// Reads a part of a video, from one time to another.
#pragma once

#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace millrace::video {

// Microseconds since the first frame.
struct Clip {
  std::optional<std::int64_t> start;   // start with the first frame shown at that time or later
  std::optional<std::int64_t> end;     // end before the first frame shown at that time or later
  std::optional<std::int64_t> frames;  // at most this many

  [[nodiscard]] bool is_whole() const { return !start && !end && !frames; }
};

// Returns a reader of that part, with times shifted as if nothing came before. `side` (may be null) is
// trimmed at the same times. If the reader can seek, decoding starts at the last keyframe before the part. A
// part without any frame is a failure; the message calls the video `name`.
[[nodiscard]] std::unique_ptr<FrameReader> clipped(std::unique_ptr<FrameReader> reader, const Clip& clip,
                                                   std::shared_ptr<SideStreams> side, std::string name);

}  // namespace millrace::video
