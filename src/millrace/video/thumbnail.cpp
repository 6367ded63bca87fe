#include "millrace/video/thumbnail.h"

#include "millrace/base/text/base64.h"
#include "millrace/video/ffmpeg_backend.h"

#include <span>

namespace millrace::video {

Result<Thumbnail> make_thumbnail(const Frame& frame, int side) {
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->make_thumbnail(frame, side);
}

std::string data_url(const Thumbnail& picture) {
  return "data:image/jpeg;base64," + base64(std::as_bytes(std::span(picture.jpeg)));
}

}  // namespace millrace::video
