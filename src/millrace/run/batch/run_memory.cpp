#include "millrace/run/batch/run_memory.h"

#include "millrace/base/large_memory.h"
#include "millrace/run/video/turn_length.h"
#include "millrace/video/overlap/frame_queue.h"

namespace millrace::run {
namespace {

// Of H.264: pictures that others refer to, beside the one that each thread works on.
constexpr std::uint64_t most_references = 6;
// x264 looks this far ahead at the preset that is used, and holds about as many pictures for each thread, of
// which it keeps interpolated copies.
constexpr std::uint64_t encoder_ahead = 14;
constexpr std::uint64_t encoder_per_thread = 3;
// Code and tables of codecs and libraries, a thread's stack.
constexpr std::uint64_t base_bytes = 8'000'000;

}  // namespace

std::uint64_t run_memory_bytes(const RunMemory& run) {
  const std::uint64_t frame = video::frame_bytes(run.format);
  const std::uint64_t samples =
      static_cast<std::uint64_t>(run.format.width) * static_cast<std::uint64_t>(run.format.height);
  const auto side_by_side = static_cast<std::uint64_t>(run.frames_in_flight);
  const int turn = TurnLength::most_frames(run.frames_in_flight, frame);
  const std::uint64_t queue = video::queue_depth_for(turn) + 1;
  const std::uint64_t own = (2 * queue + 2 * static_cast<std::uint64_t>(turn)) * large_memory_bytes(frame);
  std::uint64_t frames = 0;  // of codecs
  if (run.decoder_threads > 0) frames += static_cast<std::uint64_t>(run.decoder_threads) + most_references;
  if (run.encoder_threads > 0)
    frames += encoder_ahead + encoder_per_thread * static_cast<std::uint64_t>(run.encoder_threads);
  // Two full-frame intermediates of floats; most structures need less.
  const std::uint64_t intermediates = side_by_side * 2 * large_memory_bytes(samples * sizeof(float));
  return base_bytes + own + frames * frame + intermediates;
}

}  // namespace millrace::run
