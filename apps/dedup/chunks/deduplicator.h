// Deduplicator: what of a stream is new, and what is a copy of what was there before.
#pragma once

#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/chunk_digest.h"
#include "dedup/chunks/fragmenter.h"
#include "dedup/chunks/gear_scan.h"
#include "dedup/chunks/history.h"
#include "dedup/chunks/segment.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace millrace::dedup {

// A chunk of a fragment: where it ends there, and what it contains.
struct Chunk {
  std::size_t end = 0;
  Digest digest{};
};

struct CutFragment {
  Fragment fragment;
  std::vector<Chunk> chunks;  // without gaps; the last ends with the fragment
  std::vector<Mark> marks;
};

// Where the chunks are; digests are left empty.
[[nodiscard]] CutFragment cut(Fragment fragment, const ChunkCutter& cutter);
// Fills in the digests. key: the same for all fragments of a stream.
[[nodiscard]] Status digest(CutFragment& fragment, const ChunkDigest::Key& key);

struct DedupCounts {
  std::uint64_t chunks = 0;
  std::uint64_t known_chunks = 0;
  std::uint64_t known_bytes = 0;   // of them
  std::uint64_t copied_bytes = 0;  // of all copies, those of parts of new chunks too
};

// Takes the fragments in the order of the stream and says how each is made of new bytes and of copies. A
// chunk whose digest was there before, however far back, is a copy; in new ones, what the window has before,
// at any place, is copied from there. Which occurrence holds the bytes follows from the stream alone, not
// from who was faster. What copies name are bytes that were new, never a copy, so that each is restored by
// one look. Used by one thread at a time.
class Deduplicator {
 public:
  // As History has them.
  Deduplicator(std::size_t window, std::size_t largest_fragment) : history_(window, largest_fragment) {}

  [[nodiscard]] Segment divide(CutFragment cut);

  [[nodiscard]] const DedupCounts& counts() const { return counts_; }

 private:
  // From this position of the history on, until the next one, the bytes are those of the stream from `source`
  // on, where they were new.
  struct Origin {
    std::uint64_t at;
    std::uint64_t source;
  };
  // A digest is as good a hash as there is.
  struct FirstBytes {
    std::size_t operator()(const Digest& digest) const {
      std::size_t hash = 0;
      std::memcpy(&hash, digest.data(), sizeof hash);
      return hash;
    }
  };
  class Building;

  void add_new(Building& segment, const CutFragment& cut, std::size_t begin, std::size_t end);

  History history_;
  std::unordered_map<Digest, std::uint64_t, FirstBytes> places_;  // in the history
  std::vector<Origin> origins_;                                   // in order
  std::uint64_t stream_size_ = 0;
  DedupCounts counts_;
};

}  // namespace millrace::dedup
