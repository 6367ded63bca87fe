// WrittenAs: codec and size of a written file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::video {

struct WrittenAs {
  std::string codec;                   // "h264"; empty: not encoded
  std::string title;                   // for display: "H.264"
  std::string fallback;                // one line: why it is not the container's default codec; empty: it is
  std::optional<std::uint64_t> bytes;  // so far; none: the writer stores nothing
};

// "H.264, 1.2 MB"; empty if neither is known.
[[nodiscard]] std::string to_string(const WrittenAs& written);

}  // namespace millrace::video
