#include "millrace/run/video/frame_batch_size.h"

#include <algorithm>
#include <cstdint>

namespace millrace::run {
namespace {

// Long compared with the 30 to 60 us between two batches on the machines measured.
constexpr double long_batch_seconds = 8e-4;
constexpr int most_rounds = 8;
// Memory limits for batches of more than one round: per concurrent frame, and in total.
constexpr std::size_t most_worker_bytes = 1'000'000;
constexpr std::size_t most_batch_bytes = 16'000'000;
// Minimum number of batches in a run. In fewer, longer ones the first touch of their memory would be a large
// part.
constexpr std::int64_t least_batches = 12;
constexpr double renewal = 0.2;

}  // namespace

void FrameBatchSize::add(int frames, double seconds) {
  const double one = seconds / frames;
  frame_seconds_ = frame_seconds_ > 0 ? frame_seconds_ + renewal * (one - frame_seconds_) : one;
}

int FrameBatchSize::frames(int side_by_side) const {
  if (!(frame_seconds_ > 0)) return side_by_side;
  int rounds = 1;
  int most = most_frames(side_by_side, frame_bytes_);
  if (total_) most = static_cast<int>(std::min<std::int64_t>(most, *total_ / least_batches));
  // Doubling keeps the length stable from batch to batch.
  while (2 * rounds * side_by_side <= most && rounds * side_by_side * frame_seconds_ < long_batch_seconds)
    rounds *= 2;
  return rounds * side_by_side;
}

int FrameBatchSize::most_frames(int side_by_side, std::size_t frame_bytes) {
  if (side_by_side == 1) return 1;
  const std::size_t bytes =
      std::min(most_batch_bytes, most_worker_bytes * static_cast<std::size_t>(side_by_side));
  const std::size_t fit = bytes / std::max<std::size_t>(frame_bytes, 1);
  const auto rounds = static_cast<int>(std::min<std::size_t>(fit / static_cast<std::size_t>(side_by_side),
                                                             static_cast<std::size_t>(most_rounds)));
  return std::max(1, rounds) * side_by_side;
}

}  // namespace millrace::run
