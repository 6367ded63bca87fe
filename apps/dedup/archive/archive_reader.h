// ArchiveReader: reads an archive's records in order, from a file or pipe.
#pragma once

#include "dedup/archive/archive_format.h"
#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace millrace::dedup {

// A record that restores a part of the stream, and its position.
struct StoredRecord {
  std::uint64_t number = 0;  // from 0
  std::uint64_t archive_offset = 0;
  std::uint64_t stream_offset = 0;
  std::variant<SegmentHeader, DataHeader, ReferenceHeader> header;
  std::vector<std::byte> payload;  // of a segment (recipe, then literals) or data record; checked

  // Bytes it restores.
  [[nodiscard]] std::uint32_t content_size() const;
};

// "NAME: damaged at byte B (record N): WHAT; take another copy of the archive".
[[nodiscard]] std::unexpected<Error> damaged(const std::string& name, std::uint64_t offset,
                                             std::uint64_t record, const std::string& what);

// Reads forward only and delivers only what has passed its checks. For any input, memory is bounded by one
// payload, the read-ahead, a hundred kB, and 17 bytes per record. Used by one thread at a time.
class ArchiveReader {
 public:
  // `source` must outlive it. `copy`, if given, is called with the offset and the bytes (header and payload)
  // of every segment or data record before it is delivered. `read_ahead`: bytes requested from the source at
  // a time, at least 1.
  using Copy = std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)>;
  explicit ArchiveReader(ByteSource& source, Copy copy = {}, std::size_t read_ahead = std::size_t{1} << 18);

  // Call it once, first. Failure if the source is not an archive.
  [[nodiscard]] Result<ArchiveHeader> begin();
  // The next record; nullopt at the end, after the index and the end record were verified. A failure names
  // the byte and the record if the archive is damaged or truncated.
  [[nodiscard]] Result<std::optional<StoredRecord>> next();

  // After the end: the expected size and check of the stream.
  [[nodiscard]] const EndHeader& end() const { return end_; }

  [[nodiscard]] std::uint64_t archive_size() const { return offset_; }

 private:
  [[nodiscard]] Result<RecordHeader> read_header(std::vector<std::byte>& bytes);
  // `bytes`: the encoded header.
  template <class Header>
  [[nodiscard]] Result<std::optional<StoredRecord>> deliver(const Header& header,
                                                            std::vector<std::byte> bytes);
  [[nodiscard]] Result<std::optional<StoredRecord>> deliver(const ReferenceHeader& header);
  [[nodiscard]] Status check_index(const IndexHeader& header);
  [[nodiscard]] Status check_end(std::uint64_t index_offset);
  // Appends `count` bytes to `bytes`; failure if the archive ends before.
  [[nodiscard]] Status read(std::vector<std::byte>& bytes, std::size_t count);
  [[nodiscard]] std::unexpected<Error> damaged_here(const std::string& what) const;

  ByteSource* source_;
  Copy copy_;
  ArchiveHeader archive_header_;
  bool cut_off_ = false;  // the source ended before the archive did
  // Buffer for reading ahead.
  std::size_t read_ahead_;
  std::unique_ptr<std::byte[]> ahead_;
  std::size_t ahead_begin_ = 0;
  std::size_t ahead_end_ = 0;

  std::uint64_t offset_ = 0;         // of the next byte
  std::uint64_t record_offset_ = 0;  // of the current record
  std::uint64_t stream_size_ = 0;
  std::uint64_t data_records_ = 0;
  std::uint64_t copies_ = 0;
  std::uint64_t literal_bytes_ = 0;
  // A deque, because it over-allocates less than a vector and grows without copying.
  std::deque<IndexEntry> index_;
  std::vector<bool> is_data_;  // for each entry, whether its record is a data record
  EndHeader end_;
};

}  // namespace millrace::dedup
