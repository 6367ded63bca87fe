// Reads numbered pictures as a video.
#pragma once

#include "millrace/video/frame/frame_reader.h"
#include "millrace/video/sequence_name.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace millrace::video {

// The numbers of the pictures that a reader would read, in order; empty if there are no such files.
[[nodiscard]] std::vector<std::int64_t> numbers_of(const SequenceName& sequence);

// Reads from the lowest existing number up to the first gap, at 25 frames per second. `name` is for messages.
[[nodiscard]] Result<std::unique_ptr<FrameReader>>
open_sequence(const SequenceName& sequence, std::string_view name, const ReaderOptions& options);

}  // namespace millrace::video
