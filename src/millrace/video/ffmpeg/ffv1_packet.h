// What a packet of FFV1 (RFC 9043) says of itself.
//
//   if (!ffv1_checksums_hold(bytes)) ...  // FFmpeg's decoder would silently take a slice of an earlier
//   picture if (ffv1_is_key(bytes)) ...           // whatever the container says
#pragma once

#include <cstdint>
#include <span>

namespace millrace::video {

// Whether the packet is a chain of slices whose checksums (4.9) all match. False for every damaged packet,
// and for streams without checksums (FFV1 version 1, or an encoder told to leave them out).
[[nodiscard]] bool ffv1_checksums_hold(std::span<const std::uint8_t> packet);

// Whether decoding can begin with the picture (`keyframe`, 4.4). Containers may be wrong about it: FFmpeg
// takes each picture of a damaged AVI file for a keyframe.
[[nodiscard]] bool ffv1_is_key(std::span<const std::uint8_t> packet);

}  // namespace millrace::video
