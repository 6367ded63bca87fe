#include "millrace/cluster/plan/chunk_cuts.h"

#include <algorithm>
#include <cstdlib>

namespace millrace::cluster {
namespace {

// The keyframe displayed nearest to `due`, after the frame `after`.
std::optional<std::int64_t> nearest_key(const std::vector<std::int64_t>& times,
                                        const std::vector<std::int64_t>& keys, std::int64_t due,
                                        std::int64_t after) {
  const auto time_of = [&](std::int64_t frame) { return times[static_cast<std::size_t>(frame)]; };
  const auto behind = std::ranges::lower_bound(keys, due, {}, time_of);
  std::optional<std::int64_t> nearest;
  if (behind != keys.end() && *behind > after) nearest = *behind;
  if (behind != keys.begin()) {
    const std::int64_t before = *std::prev(behind);
    if (before > after && (!nearest || due - time_of(before) <= time_of(*nearest) - due)) nearest = before;
  }
  return nearest;
}

}  // namespace

std::vector<ChunkCut> cut_chunks(const std::vector<std::int64_t>& times,
                                 const std::vector<std::int64_t>& keys, std::int64_t length,
                                 const image::NeighbouringFrames& neighbours) {
  const auto count = std::ssize(times);
  const auto time_of = [&](std::int64_t frame) { return times[static_cast<std::size_t>(frame)]; };
  const std::int64_t tolerance = length / 4;
  std::vector<std::int64_t> firsts;
  for (std::int64_t first = 0; first < count;) {
    firsts.push_back(first);
    const std::int64_t due = time_of(first) + length;
    // The rest is too short for another chunk.
    if (time_of(count - 1) < due + tolerance) break;
    std::int64_t next = std::ranges::lower_bound(times, due) - times.begin();
    if (const auto key = nearest_key(times, keys, due, first);
        key && std::abs(time_of(*key) - due) <= tolerance)
      next = *key;
    first = std::max(next, first + 1);
  }
  std::vector<ChunkCut> cuts;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const std::int64_t end = i + 1 < firsts.size() ? firsts[i + 1] : count;
    ChunkCut cut{.first = firsts[i],
                 .frames = end - firsts[i],
                 .before = std::min<std::int64_t>(neighbours.before, firsts[i]),
                 .after = std::min<std::int64_t>(neighbours.after, count - end)};
    const auto above = std::ranges::upper_bound(keys, first_read(cut));
    if (above != keys.begin()) cut.key = *std::prev(above);
    if (cut.key && above - keys.begin() > 1) cut.earlier_key = *std::prev(above, 2);
    cuts.push_back(cut);
  }
  return cuts;
}

std::int64_t decoded_frames(const ChunkCut& cut) {
  return cut.first + cut.frames + cut.after - cut.key.value_or(0);
}

}  // namespace millrace::cluster
