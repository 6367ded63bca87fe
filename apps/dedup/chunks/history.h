// History: the new bytes of a stream within the window, and their marks.
#pragma once

#include "dedup/chunks/gear_scan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace millrace::dedup {

// Positions count the new bytes from the beginning, with gaps between fragments. Used by one thread at a
// time.
class History {
 public:
  // `window`: search distance, a power of two, or 0 for no search. `largest_fragment`: maximum of new bytes
  // between two calls of begin_fragment(). Memory: window + largest_fragment + window / 16.
  History(std::size_t window, std::size_t largest_fragment);

  // Bytes added from now on are contiguous: matches can span all of them.
  void begin_fragment();
  // Returns the position of the first byte. Forgets bytes further back than the window.
  std::uint64_t add(std::span<const std::byte> bytes);

  struct Match {
    std::uint64_t begin = 0;   // of the earlier occurrence
    std::uint32_t before = 0;  // equal bytes before the queried position
    std::uint32_t behind = 0;  // equal bytes after it
    [[nodiscard]] std::uint32_t length() const { return before + behind; }
  };
  [[nodiscard]] bool looks_back() const { return window_ > 0; }
  // The position of the next added byte.
  [[nodiscard]] std::uint64_t end() const { return end_; }

  // Only if looks_back(). The longest earlier occurrence, found by its mark, of the bytes around `at`. At
  // most `most_before` and `most_behind` bytes count, and it ends before those bytes begin. Length 0 if there
  // is none.
  [[nodiscard]] Match find(std::uint64_t at, std::uint64_t hash, std::size_t most_before,
                           std::size_t most_behind) const;
  // Records that a mark with this hash is at `at`.
  void remember(std::uint64_t at, std::uint64_t hash);
  // Prefetch for find() with this hash: expect() some time before, expect_soon() shortly before.
  void expect(std::uint64_t hash) const;
  void expect_soon(std::uint64_t hash) const;

 private:
  struct Entry {
    std::uint32_t check = 0;
    std::uint32_t at = 0;  // low bits of the position
  };
  // Newest first, in one cache line.
  struct alignas(32) Bucket {
    std::array<Entry, 4> entries;
  };
  struct Key {
    std::size_t bucket;
    std::uint32_t check;
  };
  [[nodiscard]] Key key_of(std::uint64_t hash) const;
  [[nodiscard]] const std::byte* data_at(std::uint64_t position) const {
    return ring_.get() + position % capacity_;
  }

  std::size_t window_;
  std::size_t largest_fragment_;
  std::uint64_t capacity_;
  std::unique_ptr<std::byte[]> ring_;
  std::vector<Bucket> buckets_;
  std::uint64_t end_ = 0;
  // Positions without bytes, left where the ring buffer wrapped.
  std::uint64_t gap_begin_ = 0;
  std::uint64_t gap_end_ = 0;
};

}  // namespace millrace::dedup
