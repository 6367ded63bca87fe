// How long a Matroska or WebM file should be. FFmpeg takes the end of a file that was cut off for the end of
// the video.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace millrace::video {

// From the first bytes of a file (64 are enough for the usual header): where its one segment ends, RFC 8794
// and 9559. nullopt where it does not say, as files do not that were streamed or never finished.
[[nodiscard]] std::optional<std::uint64_t> matroska_size(std::span<const std::uint8_t> start);

}  // namespace millrace::video
