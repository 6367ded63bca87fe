// History: the bytes of a stream that were new, as far back as the window reaches, and where they are marked.
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
  // `window`: how far back is looked, a power of two, or 0 for not at all. `largest_fragment`: of new bytes
  // between two calls of begin_fragment(), at most. Memory: window + largest_fragment + window / 16.
  History(std::size_t window, std::size_t largest_fragment);

  // The bytes added from now on stand together: matches in them reach from one end to the other.
  void begin_fragment();
  // The position of the first. What was more than the window and this before it is forgotten.
  std::uint64_t add(std::span<const std::byte> bytes);

  struct Match {
    std::uint64_t begin = 0;   // of the earlier occurrence
    std::uint32_t before = 0;  // bytes that are equal before the place asked about,
    std::uint32_t behind = 0;  // and behind it
    [[nodiscard]] std::uint32_t length() const { return before + behind; }
  };
  [[nodiscard]] bool looks_back() const { return window_ > 0; }
  // Where add() puts the next bytes.
  [[nodiscard]] std::uint64_t end() const { return end_; }

  // Where looks_back(): the longest occurrence, known by its mark, of the bytes around `at`, of which at most
  // `most_before` and `most_behind` count; it ends before those bytes begin. Of length 0 where there is none.
  [[nodiscard]] Match find(std::uint64_t at, std::uint64_t hash, std::size_t most_before,
                           std::size_t most_behind) const;
  // Remembers that a mark with this hash is at `at`.
  void remember(std::uint64_t at, std::uint64_t hash);
  // Make find() quicker with this hash: the one a while before, the other soon before.
  void expect(std::uint64_t hash) const;
  void expect_soon(std::uint64_t hash) const;

 private:
  struct Entry {
    std::uint32_t check = 0;
    std::uint32_t at = 0;  // the low bits of the position
  };
  // The newest first, in one line of the cache.
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
  // No bytes have the positions from the one to the other, where the ring began anew.
  std::uint64_t gap_begin_ = 0;
  std::uint64_t gap_end_ = 0;
};

}  // namespace millrace::dedup
