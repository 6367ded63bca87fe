// A frame as the bytes that it is in y4m; one of numbers as those it would be.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::video {

// How many: a line "FRAME" and the samples, packed.
[[nodiscard]] std::size_t y4m_frame_bytes(const FrameFormat& format);

// `bytes` becomes as long as that.
void pack_y4m_frame(const Frame& frame, std::vector<std::byte>& bytes);

// As many bytes as a frame of this format is. False where they are none of such a frame: they begin
// otherwise, or samples have more bits.
[[nodiscard]] bool unpack_y4m_frame(std::span<const std::byte> bytes, const Frame& frame);

}  // namespace millrace::video
