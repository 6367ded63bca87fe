// What a writer makes of its frames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::video {

struct WrittenAs {
  std::string codec;                   // "h264"; empty: frames are not encoded
  std::string title;                   // for people: "H.264"
  std::string fallback;                // one line: why it is not the container's usual codec; empty: it is
  std::optional<std::uint64_t> bytes;  // so far; none: nothing is kept
};

// "H.264, 1.2 MB"; empty where neither is known.
[[nodiscard]] std::string to_string(const WrittenAs& written);

}  // namespace millrace::video
