#include "millrace/run/batch/run_memory.h"

#include "millrace/base/process/large_memory.h"
#include "millrace/run/video/frame_batch_size.h"
#include "millrace/video/overlap/frame_queue.h"

#include <algorithm>

namespace millrace::run {
namespace {

// For H.264: reference pictures, in addition to the one that each thread works on.
constexpr std::uint64_t most_references = 6;
// x264's lookahead at the preset used, and its pictures per thread, for which it keeps interpolated
// copies.
constexpr std::uint64_t encoder_ahead = 14;
constexpr std::uint64_t encoder_per_thread = 3;
// Code and tables of codecs and libraries, and a thread's stack.
constexpr std::uint64_t base_bytes = 8'000'000;

}  // namespace

std::uint64_t run_memory_bytes(const RunMemory& run) {
  const std::uint64_t read = video::frame_bytes(run.input);
  const std::uint64_t made = video::frame_bytes(run.output);
  const auto samples_of = [](const video::FrameFormat& format) {
    return static_cast<std::uint64_t>(format.width) * static_cast<std::uint64_t>(format.height);
  };
  const int turn = FrameBatchSize::most_frames(run.frames_in_flight, std::max(read, made));
  const std::uint64_t queued = video::queue_depth_for(turn) + 1;
  const std::uint64_t own =
      (queued + static_cast<std::uint64_t>(turn)) * (large_memory_bytes(read) + large_memory_bytes(made));
  std::uint64_t codecs = 0;
  if (run.decoder_threads > 0)
    codecs += (static_cast<std::uint64_t>(run.decoder_threads) + most_references) * read;
  if (run.encoder_threads > 0)
    codecs += (encoder_ahead + encoder_per_thread * static_cast<std::uint64_t>(run.encoder_threads)) * made;
  // Two full-frame intermediates of floats; most structures need less.
  const std::uint64_t samples = std::max(samples_of(run.input), samples_of(run.output));
  const std::uint64_t intermediates =
      static_cast<std::uint64_t>(run.frames_in_flight) * 2 * large_memory_bytes(samples * sizeof(float));
  return base_bytes + own + codecs + intermediates;
}

}  // namespace millrace::run
