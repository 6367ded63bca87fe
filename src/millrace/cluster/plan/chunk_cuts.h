// Where a video is cut into chunks. Pure.
#pragma once

#include "millrace/image/filter/filter.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::cluster {

struct ChunkCut {
  std::int64_t first = 0;   // frame, in the order they are shown
  std::int64_t frames = 0;  // at least 1
  // Frames of the chunks around it that its own are made of: as many as filters read, or as there are.
  std::int64_t before = 0;
  std::int64_t after = 0;
  // The key frame from which on all of these are decoded, and the one before that; none: from the beginning
  // of the video.
  std::optional<std::int64_t> key;
  std::optional<std::int64_t> earlier_key;

  bool operator==(const ChunkCut&) const = default;
};

// times: of all frames in the order they are shown, growing. keys: numbers of the frames at which decoding
// may begin, growing. length: of a chunk, in units of `times`, at least 1. neighbours: frames around each
// that filters read.
//
// Chunks begin where they are due by their length, or at a key frame that is not further from there than a
// quarter of it, so that nothing is decoded twice; a key frame far away is not waited for. What would be left
// for a last chunk of less than a quarter goes to the one before. The same for every machine that is ever to
// do a chunk: depends on nothing but what is given here.
[[nodiscard]] std::vector<ChunkCut> cut_chunks(const std::vector<std::int64_t>& times,
                                               const std::vector<std::int64_t>& keys, std::int64_t length,
                                               const image::NeighbouringFrames& neighbours = {});

// The first frame that is read for a chunk.
[[nodiscard]] inline std::int64_t first_read(const ChunkCut& cut) { return cut.first - cut.before; }

// Frames that are decoded for a chunk, those included that are not its own.
[[nodiscard]] std::int64_t decoded_frames(const ChunkCut& cut);

}  // namespace millrace::cluster
