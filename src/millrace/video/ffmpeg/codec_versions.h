// Which codecs read and write videos here.
#pragma once

#include <string>

namespace millrace::video {

// FFmpeg's libraries and libx264 with their versions, in one line. Another line means that the same video may
// become another file. Thread-safe.
[[nodiscard]] std::string codec_versions();

}  // namespace millrace::video
