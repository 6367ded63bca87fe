// Verifies the slice checksums of FFV1 (RFC 9043, 4.9). FFmpeg's decoder silently replaces a slice whose
// checksum fails by one of an earlier picture.
#pragma once

#include <cstdint>
#include <span>

namespace millrace::video {

// Whether the packet is a chain of slices whose checksums all match. False for every damaged packet, and for
// streams without checksums (FFV1 version 1, or an encoder told to leave them out).
[[nodiscard]] bool ffv1_checksums_hold(std::span<const std::uint8_t> packet);

}  // namespace millrace::video
