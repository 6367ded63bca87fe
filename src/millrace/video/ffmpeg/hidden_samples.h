// Samples that a packet of sound has, but that are not to be heard.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <cstdint>
#include <optional>

namespace millrace::video {

// Whether each packet can be decoded alone, and exactly.
[[nodiscard]] bool stands_alone(AVCodecID codec);

// Number of samples that a packet decodes to, for codecs whose packets stand alone. None if it is damaged.
[[nodiscard]] std::optional<std::int64_t> decoded_samples(const AVCodecParameters& codec,
                                                          const AVPacket& packet);

// Samples to discard at the start and at the end of the packet, according to its side data.
struct HiddenSamples {
  std::int64_t at_start = 0;
  std::int64_t at_end = 0;
};
[[nodiscard]] HiddenSamples hidden_samples(const AVPacket& packet);
// Returns false if memory runs out.
[[nodiscard]] bool hide_samples(AVPacket& packet, const HiddenSamples& hidden);

}  // namespace millrace::video
