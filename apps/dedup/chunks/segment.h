// Segment: a part of the stream as new bytes and copies of bytes that were new before.
#pragma once

#include "dedup/chunks/fragmenter.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::dedup {

// First `literals` new bytes, then `copy` bytes that stand at `source` in the stream. Either may be none.
struct Piece {
  std::uint32_t literals = 0;
  std::uint32_t copy = 0;
  std::uint64_t source = 0;  // before the place that they are copied to; all of these bytes were new there

  bool operator==(const Piece&) const = default;
};

// Shorter copies cost more than the bytes, and make recipes long.
inline constexpr std::uint32_t least_copy = 48;

struct Segment {
  Fragment fragment{};
  std::uint64_t stream_offset = 0;
  std::vector<Piece> pieces;  // that make the fragment
  std::uint32_t literals = 0;
  std::uint32_t copies = 0;
};

}  // namespace millrace::dedup
