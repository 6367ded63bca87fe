// Makes small pictures of frames for people to look at.
#pragma once

#include "millrace/base/error/result.h"
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

// Renders the frame as a player shows it: in RGB, with square pixels. The result is no larger than the frame
// and has at most `side` pixels per side.
[[nodiscard]] Result<Thumbnail> make_thumbnail(const Frame& frame, int side);

// "data:image/jpeg;base64,..."
[[nodiscard]] std::string data_url(const Thumbnail& picture);

}  // namespace millrace::video
