// The loop count of animations.
#pragma once

#include "millrace/video/frame/properties.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace millrace::video {

// Name of the property.
inline constexpr std::string_view loop_count_name = "Loop count";

// Reads the loop count of a GIF or APNG from the start of its file. 0: endless. None: another kind of file,
// or no count there.
[[nodiscard]] std::optional<std::uint32_t> loop_count_of(std::span<const std::uint8_t> start);

[[nodiscard]] std::optional<std::uint32_t> find_loop_count(const Properties& properties);
void set_loop_count(Properties& properties, std::uint32_t times);

// The option value for FFmpeg's muxer: -1 for once, 0 for endless, else the number of repeats.
[[nodiscard]] int gif_muxer_loop(std::uint32_t times);

}  // namespace millrace::video
