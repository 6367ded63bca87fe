// Finds content-defined marks in a stream, used both for cutting chunks and for finding repetitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::dedup {

// A position whose preceding 64 bytes have a gear hash with zeros in its highest bits.
struct Mark {
  std::uint32_t end = 0;   // end of the 64 bytes
  std::uint64_t hash = 0;  // hash of the 64 bytes

  bool operator==(const Mark&) const = default;
};

// Number of highest bits that are zero at a mark: on average one position in 256 is a mark.
inline constexpr int mark_bits = 8;

// A mark closer than this to another one, whether that is kept or not, is left out. This bounds the number of
// marks.
inline constexpr std::size_t least_between_marks = 16;

// All marks of `data`, in order. `data` has at most 4 GiB. Positions after fewer than 64 bytes are never
// marks.
[[nodiscard]] std::vector<Mark> gear_marks(std::span<const std::byte> data);

}  // namespace millrace::dedup
