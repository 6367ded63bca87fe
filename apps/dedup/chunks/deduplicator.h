// Deduplicator: divides a stream into new bytes and copies of earlier bytes.
#pragma once

#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/chunk_digest.h"
#include "dedup/chunks/fragmenter.h"
#include "dedup/chunks/gear_scan.h"
#include "dedup/chunks/history.h"
#include "dedup/chunks/segment.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace millrace::dedup {

// A chunk of a fragment: its end in the fragment, and its digest.
struct Chunk {
  std::size_t end = 0;
  Digest digest{};
};

struct CutFragment {
  Fragment fragment;
  std::vector<Chunk> chunks;  // without gaps; the last ends with the fragment
  std::vector<Mark> marks;
};

// Finds the chunks and leaves the digests empty.
[[nodiscard]] CutFragment cut(Fragment fragment, const ChunkCutter& cutter);
// Fills in the digests. key: the same for all fragments of a stream.
[[nodiscard]] Status digest(CutFragment& fragment, const ChunkDigest::Key& key);

struct DedupCounts {
  std::uint64_t chunks = 0;
  std::uint64_t known_chunks = 0;
  std::uint64_t known_bytes = 0;   // part of the bytes above
  std::uint64_t copied_bytes = 0;  // in all copies, including those inside new chunks
};

// Takes the fragments in stream order and describes each as new bytes and copies. A chunk with a known
// digest, however far back, is a copy. Inside new chunks, sequences that the window already has at any
// position are copied too. The result depends only on the stream, not on timing. Copies refer only to bytes
// that were new, never to another copy, so one lookup restores each. Used by one thread at a time.
class Deduplicator {
 public:
  // See History.
  Deduplicator(std::size_t window, std::size_t largest_fragment) : history_(window, largest_fragment) {}

  [[nodiscard]] Segment divide(CutFragment cut);

  [[nodiscard]] const DedupCounts& counts() const { return counts_; }

 private:
  // From history position `at` to the next entry, the bytes are those that were new in the stream from
  // `source` on.
  struct Origin {
    std::uint64_t at;
    std::uint64_t source;
  };
  // A digest is already a good hash.
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
  std::unordered_map<Digest, std::uint64_t, FirstBytes> places_;  // positions in the history
  std::vector<Origin> origins_;                                   // in order
  std::uint64_t stream_size_ = 0;
  DedupCounts counts_;
};

}  // namespace millrace::dedup
