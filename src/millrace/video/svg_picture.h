// Renders SVG.
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <string>
#include <vector>

namespace millrace::video {

// The content of a .png file, without transparency. FFmpeg's SVG decoder, which is librsvg, renders it.
// Failure if FFmpeg was built without that.
[[nodiscard]] Result<std::vector<std::byte>> png_of_svg(const std::string& svg);

}  // namespace millrace::video
