// Where the content of a stream marks places: found once, for cutting chunks and for finding repetitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::dedup {

// A place whose last 64 bytes have a gear hash with zeros in its highest bits.
struct Mark {
  std::uint32_t end = 0;   // of the 64 bytes
  std::uint64_t hash = 0;  // of them

  bool operator==(const Mark&) const = default;
};

// So many of the highest bits are zero at a mark: on average one place in 256 is one.
inline constexpr int mark_bits = 8;

// Marks that follow another, left out itself or not, more closely are left out: no content has very many.
inline constexpr std::size_t least_between_marks = 16;

// All marks of `data`, of at most 4 GiB, in order. Places behind fewer than 64 bytes are none.
[[nodiscard]] std::vector<Mark> gear_marks(std::span<const std::byte> data);

}  // namespace millrace::dedup
