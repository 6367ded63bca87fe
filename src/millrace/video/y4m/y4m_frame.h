// Converts frames to and from the bytes of a y4m frame. Also handles planes of numbers, which y4m itself
// cannot hold.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::video {

// Size of a frame: a line "FRAME" and the packed samples.
[[nodiscard]] std::size_t y4m_frame_bytes(const FrameFormat& format);

// Resizes `bytes` to y4m_frame_bytes().
void pack_y4m_frame(const Frame& frame, std::vector<std::byte>& bytes);

// Takes y4m_frame_bytes() bytes. Returns false if they do not begin as a frame does, or if samples exceed the
// bit depth.
[[nodiscard]] bool unpack_y4m_frame(std::span<const std::byte> bytes, const Frame& frame);

}  // namespace millrace::video
