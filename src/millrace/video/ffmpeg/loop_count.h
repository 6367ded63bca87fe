// How often an animation is played.
#pragma once

#include "millrace/video/frame/properties.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace millrace::video {

// The name of it among the properties of a video.
inline constexpr std::string_view loop_count_name = "Loop count";

// Of a GIF or APNG by the beginning of its file, 0: without end; none: it is neither, or does not say it
// there.
[[nodiscard]] std::optional<std::uint32_t> loop_count_of(std::span<const std::uint8_t> start);

[[nodiscard]] std::optional<std::uint32_t> find_loop_count(const Properties& properties);
void set_loop_count(Properties& properties, std::uint32_t times);

// The number by which FFmpeg's muxer is told: -1 for once, 0 for ever, else how often it is repeated.
[[nodiscard]] int gif_muxer_loop(std::uint32_t times);

}  // namespace millrace::video
