// Segment: a part of the stream as new bytes and copies of earlier new bytes.
#pragma once

#include "dedup/chunks/fragmenter.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::dedup {

// First `literals` new bytes, then a copy of `copy` bytes from position `source` of the stream. Either may be
// 0.
struct Piece {
  std::uint32_t literals = 0;
  std::uint32_t copy = 0;
  std::uint64_t source = 0;  // earlier than the destination; all of these bytes were new there

  bool operator==(const Piece&) const = default;
};

// Shorter copies cost more than the bytes they save and make recipes long.
inline constexpr std::uint32_t least_copy = 48;

struct Segment {
  Fragment fragment{};
  std::uint64_t stream_offset = 0;
  std::vector<Piece> pieces;  // concatenated, they give the fragment
  std::uint32_t literals = 0;
  std::uint32_t copies = 0;
};

}  // namespace millrace::dedup
