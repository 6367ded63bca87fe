// Estimates the memory of a run before it begins. Pure.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>

namespace millrace::run {

struct RunMemory {
  video::FrameFormat input;
  video::FrameFormat output;
  int decoder_threads = 0;   // 0: nothing is decoded
  int encoder_threads = 0;   // 0: nothing is encoded
  int frames_in_flight = 1;  // maximum
};

// Upper estimate in bytes of intermediates and of the frames held by decoder, queues and encoder.
[[nodiscard]] std::uint64_t run_memory_bytes(const RunMemory& run);

}  // namespace millrace::run
