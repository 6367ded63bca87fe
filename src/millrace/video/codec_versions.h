// The versions of the codecs in use.
#pragma once

#include <string>

namespace millrace::video {

// FFmpeg's libraries and libx264 with their versions, in one line. If the line differs, the same video may
// give another file. Thread-safe.
[[nodiscard]] std::string codec_versions();

}  // namespace millrace::video
