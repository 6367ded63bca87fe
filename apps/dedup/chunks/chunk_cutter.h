// Cuts a stream into chunks at content-defined positions, so that equal content is cut alike wherever it is.
#pragma once

#include "dedup/chunks/gear_scan.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::dedup {

// Chunk sizes in bytes. A cut is made after 64 bytes whose hash has zeros in certain bits. More bits count
// below `average` and fewer above it, so that sizes cluster around it (normalised chunking, Xia et al.,
// FastCDC, 2016). No chunk is longer than `most`. None is shorter than `least`, except the last of its input.
struct ChunkSizes {
  std::size_t least = 0;
  std::size_t average = 0;
  std::size_t most = 0;

  // Sizes for this average, a power of two from 1 KiB to 256 KiB; usage error for anything else.
  [[nodiscard]] static Result<ChunkSizes> around(std::size_t average);
};

// Thread-safe: immutable.
class ChunkCutter {
 public:
  explicit ChunkCutter(const ChunkSizes& sizes);

  // The ends of the chunks of `size` bytes, which must start at a chunk boundary. `marks`: all marks of these
  // bytes.
  [[nodiscard]] std::vector<std::size_t> ends(std::span<const Mark> marks, std::size_t size) const;

  // The first position at or after `from` that the content marks as a cut for any chunk length; data.size()
  // if there is none. It depends only on the preceding 64 bytes. from >= 64.
  [[nodiscard]] std::size_t next_mark(std::span<const std::byte> data, std::size_t from) const;

  [[nodiscard]] const ChunkSizes& sizes() const { return sizes_; }

 private:
  ChunkSizes sizes_;
  std::uint64_t strict_mask_;
  std::uint64_t loose_mask_;
};

}  // namespace millrace::dedup
