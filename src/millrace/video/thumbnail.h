// Small pictures of frames, to look at.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::video {

struct Thumbnail {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> jpeg;
};

// As a player shows the frame: its colours in RGB and its pixels square. Not larger than the frame, nor than
// `side` pixels a side.
[[nodiscard]] Result<Thumbnail> make_thumbnail(const Frame& frame, int side);

// "data:image/jpeg;base64,..."
[[nodiscard]] std::string data_url(const Thumbnail& picture);

}  // namespace millrace::video
