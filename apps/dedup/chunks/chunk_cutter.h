// Where a stream is cut into chunks: at places that its content chooses, so that equal content is cut alike
// wherever it stands.
#pragma once

#include "dedup/chunks/gear_scan.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::dedup {

// Sizes of chunks in bytes. A cut is made by content where the hash of the last 64 bytes has zeros in certain
// bits: more of them before `average`, fewer behind it, so that sizes crowd around it (normalised chunking,
// Xia et al., FastCDC, 2016). No chunk but the last of its input is shorter than `least`, none is longer than
// `most`.
struct ChunkSizes {
  std::size_t least = 0;
  std::size_t average = 0;
  std::size_t most = 0;

  // From the average alone, a power of two from 1 KiB to 256 KiB; usage error for anything else.
  [[nodiscard]] static Result<ChunkSizes> around(std::size_t average);
};

// Thread-safe: immutable.
class ChunkCutter {
 public:
  explicit ChunkCutter(const ChunkSizes& sizes);

  // Where the chunks of `size` bytes end, which begin where a chunk does. `marks`: all of theirs.
  [[nodiscard]] std::vector<std::size_t> ends(std::span<const Mark> marks, std::size_t size) const;

  // The first place at or behind `from` where the content asks for a cut whatever the length of the chunk
  // before; data.size() if there is none. It depends on the 64 bytes before it alone. from >= 64.
  [[nodiscard]] std::size_t next_mark(std::span<const std::byte> data, std::size_t from) const;

  [[nodiscard]] const ChunkSizes& sizes() const { return sizes_; }

 private:
  ChunkSizes sizes_;
  std::uint64_t strict_mask_;
  std::uint64_t loose_mask_;
};

}  // namespace millrace::dedup
