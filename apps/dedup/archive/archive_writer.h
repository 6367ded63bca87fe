// ArchiveWriter: writes records, in stream order, as an archive.
#pragma once

#include "dedup/archive/archive_format.h"
#include "dedup/archive/codec.h"
#include "dedup/chunks/segment.h"
#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/error/result.h"

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

// A record and its position in the archive.
struct PlacedRecord {
  std::uint64_t offset = 0;
  std::vector<std::byte> head;  // the header and the recipe
  std::vector<std::byte> literals;
};

// Compresses the recipe and the literals if that makes them smaller. `literals`: all literals of the segment,
// concatenated.
[[nodiscard]] Result<PackedSegment> packed(const Segment& segment, std::span<const std::byte> literals,
                                           Compressor& compressor);

// Keeps 16 bytes of memory per record for the index. Used by one thread at a time.
class ArchiveWriter {
 public:
  // `sink` must outlive it.
  explicit ArchiveWriter(ByteSink& sink) : sink_(&sink) {}

  // Call it once, first.
  [[nodiscard]] Status begin(const ArchiveHeader& header);
  // Writes the next record.
  [[nodiscard]] Status add(PackedSegment segment);
  // Assigns the next record its position without writing it, for callers that write themselves.
  [[nodiscard]] PlacedRecord place(PackedSegment segment);
  // Call it once, last. Writes the index and the end record.
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

// The entries in the archive's format.
[[nodiscard]] std::vector<std::byte> encode(std::span<const IndexEntry> entries);

}  // namespace millrace::dedup
