#include "millrace/video/svg_picture.h"

#include "millrace/video/ffmpeg_backend.h"

namespace millrace::video {

Result<std::vector<std::byte>> png_of_svg(const std::string& svg) {
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->png_of_svg(svg);
}

}  // namespace millrace::video
