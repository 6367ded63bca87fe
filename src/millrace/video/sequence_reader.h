// Numbered pictures as a video.
#pragma once

#include "millrace/video/frame/frame_reader.h"
#include "millrace/video/sequence_name.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace millrace::video {

// The numbers of the pictures that a reader would read, in order; empty where no file has such a name.
[[nodiscard]] std::vector<std::int64_t> numbers_of(const SequenceName& sequence);

// From the lowest number that there is to the last one before a number that is missing, at 25 frames a
// second. `name`: in messages.
[[nodiscard]] Result<std::unique_ptr<FrameReader>>
open_sequence(const SequenceName& sequence, std::string_view name, const ReaderOptions& options);

}  // namespace millrace::video
