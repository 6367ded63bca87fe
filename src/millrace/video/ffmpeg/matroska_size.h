// The intended size of a Matroska or WebM file. FFmpeg treats the end of a truncated file as the end of the
// video.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace millrace::video {

// Returns the end of the file's single segment (RFC 8794 and 9559) from its first bytes; 64 are enough for
// the usual header. Returns nullopt if the size is not stated, as in streamed or unfinished files.
[[nodiscard]] std::optional<std::uint64_t> matroska_size(std::span<const std::uint8_t> start);

}  // namespace millrace::video
