// A part of a video, from one time to another.
#pragma once

#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace millrace::video {

// Microseconds from the first frame on.
struct Clip {
  std::optional<std::int64_t> start;   // the first frame shown at that time or later
  std::optional<std::int64_t> end;     // the last one before
  std::optional<std::int64_t> frames;  // at most so many

  [[nodiscard]] bool is_whole() const { return !start && !end && !frames; }
};

// The frames of that part alone, as early as they would be if there were nothing before. What goes beside
// them through `side` (may be null) is cut at the same times. Frames before are decoded only from the last
// key frame on, where the file tells where that is. A video without any such frame is a failure; `name` is
// what it is called there.
[[nodiscard]] std::unique_ptr<FrameReader> clipped(std::unique_ptr<FrameReader> reader, const Clip& clip,
                                                   std::shared_ptr<SideStreams> side, std::string name);

}  // namespace millrace::video
