#include "millrace/video/codec_versions.h"

#include "millrace/video/ffmpeg_backend.h"

namespace millrace::video {

std::string codec_versions() {
  const auto backend = ffmpeg_backend();
  return backend ? (*backend)->codec_versions() : "no FFmpeg";
}

}  // namespace millrace::video
