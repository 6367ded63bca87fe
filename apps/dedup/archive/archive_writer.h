// ArchiveWriter: records, in the order of the stream, to the bytes of an archive.
#pragma once

#include "dedup/archive/archive_format.h"
#include "dedup/archive/codec.h"
#include "dedup/chunks/deduplicator.h"
#include "millrace/base/byte_stream.h"
#include "millrace/base/result.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace millrace::dedup {

// A data record as it will be written.
struct PackedRun {
  Payload payload;
  std::uint32_t content_size = 0;
  std::uint64_t payload_check = 0;
};
using ArchiveRecord = std::variant<PackedRun, KnownRun>;

// A record and where in the archive it belongs.
struct PlacedRecord {
  std::uint64_t offset = 0;
  std::array<std::byte, std::max(DataHeader::size, ReferenceHeader::size)> header{};
  std::size_t header_size = 0;
  std::vector<std::byte> payload;  // behind the header

  [[nodiscard]] std::span<const std::byte> header_bytes() const {
    return std::span(header).first(header_size);
  }
};

// Keeps 16 bytes in memory for every record, which the index is made of. Used by one thread at a time.
class ArchiveWriter {
 public:
  // `sink` outlives it.
  explicit ArchiveWriter(ByteSink& sink) : sink_(&sink) {}

  // Once, first.
  [[nodiscard]] Status begin(const ArchiveHeader& header);
  // The next record. KnownRun::record counts the calls from 0 and names a data record.
  [[nodiscard]] Status add(ArchiveRecord record);
  // The same for who writes by himself: gives the record its place, right behind the one before, and writes
  // nothing.
  [[nodiscard]] PlacedRecord place(ArchiveRecord record);
  // Once, last: the index and the end, behind all records.
  [[nodiscard]] Status finish(const StreamCheck& stream_check);

  [[nodiscard]] std::uint64_t archive_size() const { return archive_size_; }
  [[nodiscard]] std::uint64_t stream_size() const { return stream_size_; }
  [[nodiscard]] std::uint64_t data_records() const { return data_records_; }
  [[nodiscard]] std::uint64_t references() const { return index_.size() - data_records_; }

 private:
  [[nodiscard]] PlacedRecord place(PackedRun run);
  [[nodiscard]] PlacedRecord place(const KnownRun& run);
  [[nodiscard]] Status write(std::span<const std::byte> bytes);

  ByteSink* sink_;
  std::uint64_t archive_size_ = 0;
  std::uint64_t stream_size_ = 0;
  std::uint64_t data_records_ = 0;
  std::vector<IndexEntry> index_;
};

// The entries as an archive has them.
[[nodiscard]] std::vector<std::byte> encode(std::span<const IndexEntry> entries);

}  // namespace millrace::dedup
