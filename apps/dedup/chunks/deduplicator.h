// Deduplicator: what of a stream is new and what was there before.
#pragma once

#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/fragmenter.h"
#include "dedup/chunks/sha256.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_map>
#include <variant>
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
};

// Where the chunks are; digests are left empty.
[[nodiscard]] CutFragment cut(Fragment fragment, const ChunkCutter& cutter);
// Fills in the digests.
[[nodiscard]] Status digest(CutFragment& fragment);

// Neighbouring chunks that are all new: the content of one data record.
struct NewRun {
  Fragment part;
};
// Neighbouring chunks that, in this order, are neighbours in one data record.
struct KnownRun {
  std::uint64_t record = 0;  // number of the data record
  std::uint32_t begin = 0;   // in its content
  std::uint32_t length = 0;
};
using Run = std::variant<NewRun, KnownRun>;

struct DedupCounts {
  std::uint64_t chunks = 0;
  std::uint64_t known_chunks = 0;
  std::uint64_t known_bytes = 0;
};

// Takes the fragments in the order of the stream and divides each into runs; each run becomes a record,
// numbered from 0. A chunk is new where no chunk before it in the stream has its digest. So which occurrence
// holds the data follows from the stream alone, not from who was faster. Used by one thread at a time.
class Deduplicator {
 public:
  [[nodiscard]] std::vector<Run> divide(const CutFragment& fragment);

  [[nodiscard]] const DedupCounts& counts() const { return counts_; }

 private:
  struct Place {
    std::uint64_t record;
    std::uint32_t begin;
  };
  // A digest is as good a hash as there is.
  struct FirstBytes {
    std::size_t operator()(const Digest& digest) const {
      std::size_t hash = 0;
      std::memcpy(&hash, digest.data(), sizeof hash);
      return hash;
    }
  };

  std::unordered_map<Digest, Place, FirstBytes> places_;
  std::uint64_t records_ = 0;
  DedupCounts counts_;
};

}  // namespace millrace::dedup
