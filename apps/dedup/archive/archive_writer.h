// ArchiveWriter: records, in the order of the stream, to the bytes of an archive.
#pragma once

#include "dedup/archive/archive_format.h"
#include "dedup/archive/codec.h"
#include "dedup/chunks/segment.h"
#include "millrace/base/byte_stream.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::dedup {

// A segment as it will be written.
struct PackedSegment {
  SegmentHeader header;
  std::vector<std::byte> recipe;  // as stored
  std::vector<std::byte> literals;
};

// A record and where in the archive it belongs.
struct PlacedRecord {
  std::uint64_t offset = 0;
  std::vector<std::byte> head;  // the header and the recipe
  std::vector<std::byte> literals;
};

// With its recipe and literals compressed, where that makes them smaller. `literals`: those of the segment,
// one after the other.
[[nodiscard]] Result<PackedSegment> packed(const Segment& segment, std::span<const std::byte> literals,
                                           Compressor& compressor);

// Keeps 16 bytes in memory for every record, which the index is made of. Used by one thread at a time.
class ArchiveWriter {
 public:
  // `sink` outlives it.
  explicit ArchiveWriter(ByteSink& sink) : sink_(&sink) {}

  // Once, first.
  [[nodiscard]] Status begin(const ArchiveHeader& header);
  // The next record.
  [[nodiscard]] Status add(PackedSegment segment);
  // The same for who writes by himself: gives the record its place, right behind the one before, and writes
  // nothing.
  [[nodiscard]] PlacedRecord place(PackedSegment segment);
  // Once, last: the index and the end, behind all records.
  [[nodiscard]] Status finish(const StreamCheck& stream_check);

  [[nodiscard]] std::uint64_t archive_size() const { return archive_size_; }
  [[nodiscard]] std::uint64_t stream_size() const { return stream_size_; }
  [[nodiscard]] std::uint64_t segments() const { return index_.size(); }
  [[nodiscard]] std::uint64_t copies() const { return copies_; }

 private:
  [[nodiscard]] Status write(std::span<const std::byte> bytes);

  ByteSink* sink_;
  std::uint64_t archive_size_ = 0;
  std::uint64_t stream_size_ = 0;
  std::uint64_t copies_ = 0;
  std::uint64_t literal_bytes_ = 0;
  std::vector<IndexEntry> index_;
};

// The entries as an archive has them.
[[nodiscard]] std::vector<std::byte> encode(std::span<const IndexEntry> entries);

}  // namespace millrace::dedup
