// Cuts a video into chunks. Pure.
#pragma once

#include "millrace/image/filter/filter.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::cluster {

struct ChunkCut {
  std::int64_t first = 0;   // frame number in display order
  std::int64_t frames = 0;  // at least 1
  // Frames of neighbouring chunks that are also read: as many as the filters need, or as exist.
  std::int64_t before = 0;
  std::int64_t after = 0;
  // The keyframe from which all of these can be decoded, and the keyframe before that. Empty: decode from the
  // beginning of the video.
  std::optional<std::int64_t> key;
  std::optional<std::int64_t> earlier_key;

  bool operator==(const ChunkCut&) const = default;
};

// times: of all frames in display order, increasing. keys: frame numbers at which decoding can start,
// increasing. length: of a chunk in units of `times`, at least 1. neighbours: frames on either side that
// filters read.
//
// A chunk begins where its length puts it, or at a keyframe within a quarter of the length from there, so
// that nothing is decoded twice. More distant keyframes are not used. A last chunk of less than a quarter is
// added to the previous one. The result depends only on the arguments, so it is the same on every machine.
[[nodiscard]] std::vector<ChunkCut> cut_chunks(const std::vector<std::int64_t>& times,
                                               const std::vector<std::int64_t>& keys, std::int64_t length,
                                               const image::NeighbouringFrames& neighbours = {});

// The first frame that is read for a chunk.
[[nodiscard]] inline std::int64_t first_read(const ChunkCut& cut) { return cut.first - cut.before; }

// Number of frames decoded for a chunk, including those of other chunks.
[[nodiscard]] std::int64_t decoded_frames(const ChunkCut& cut);

}  // namespace millrace::cluster
