// The checksums that FFV1 carries with every slice of a picture (RFC 9043, 4.9). FFmpeg's decoder finds a
// mismatch, replaces the slice by that of an earlier picture and tells nobody.
#pragma once

#include <cstdint>
#include <span>

namespace millrace::video {

// Whether the packet is a chain of slices whose checksums all hold. False for every damaged packet, and for
// streams without checksums (FFV1 version 1, or an encoder told to leave them out).
[[nodiscard]] bool ffv1_checksums_hold(std::span<const std::uint8_t> packet);

}  // namespace millrace::video
