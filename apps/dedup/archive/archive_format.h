// The binary format of archives: record headers as values, encoded and decoded. docs/dedup.md describes every
// byte. Version 2 has segments. Version 1 had data records and references; it can still be read. Pure.
#pragma once

#include "dedup/chunks/stream_hash.h"
#include "millrace/base/error/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

namespace millrace::dedup {

// How the content of a data record is stored.
enum class Method : std::uint8_t { stored = 0, zstd = 1, zlib = 2 };

// Version that is written, and oldest version that can be read.
inline constexpr std::uint16_t archive_version = 2;
inline constexpr std::uint16_t oldest_version = 1;

// The beginning of every archive.
struct ArchiveHeader {
  static constexpr std::size_t size = 32;

  std::uint16_t version = archive_version;
  std::uint32_t largest_content = 0;  // maximum number of bytes that a record restores, 1 to content_limit
  std::uint32_t average_chunk = 0;    // for information only
  Method method = Method::zstd;       // of the records that became smaller by it
  std::uint8_t level = 0;             // likewise

  bool operator==(const ArchiveHeader&) const = default;
};

// A part of the stream: a recipe of new bytes and copies, then the new bytes. Both payloads follow in this
// order.
struct SegmentHeader {
  static constexpr std::size_t size = 40;

  Method literal_method = Method::stored;
  Method recipe_method = Method::stored;
  std::uint32_t content_size = 0;     // bytes it restores, at least 1
  std::uint32_t literal_size = 0;     // part of them that is new
  std::uint32_t literal_payload = 0;  // bytes that store the literals; equal if stored uncompressed, fewer
                                      // otherwise
  std::uint32_t recipe_size = 0;      // at least 1
  std::uint32_t recipe_payload = 0;   // bytes that store the recipe; equal or fewer
  std::uint32_t copies = 0;           // in the recipe, for information
  std::uint64_t payload_check = 0;    // of both payloads together

  [[nodiscard]] std::size_t payload_size() const { return std::size_t{recipe_payload} + literal_payload; }
  bool operator==(const SegmentHeader&) const = default;
};

// Version 1. A part of the stream that occurs for the first time; its payload follows.
struct DataHeader {
  static constexpr std::size_t size = 24;

  Method method = Method::stored;
  std::uint32_t content_size = 0;  // bytes it restores, at least 1
  std::uint32_t payload_size = 0;  // bytes that follow; content_size if stored uncompressed, fewer otherwise
  std::uint64_t payload_check = 0;

  bool operator==(const DataHeader&) const = default;
};

// Version 1. A part of the stream that equals a part of an earlier data record.
struct ReferenceHeader {
  static constexpr std::size_t size = 32;

  std::uint32_t length = 0;          // bytes it restores, at least 1
  std::uint32_t begin = 0;           // position in the content of the data record
  std::uint64_t archive_offset = 0;  // of the data record's header
  std::uint64_t stream_offset = 0;   // of the first byte that the data record restores

  bool operator==(const ReferenceHeader&) const = default;
};

// The positions of all segments (or data records and references), in stream order; the entries follow.
struct IndexHeader {
  static constexpr std::size_t size = 32;

  std::uint64_t entries = 0;
  std::uint64_t entries_check = 0;

  bool operator==(const IndexHeader&) const = default;
};
struct IndexEntry {
  static constexpr std::size_t size = 16;

  std::uint64_t stream_offset = 0;
  std::uint64_t archive_offset = 0;

  bool operator==(const IndexEntry&) const = default;
};

// The last record; nothing follows it.
struct EndHeader {
  static constexpr std::size_t size = 64;

  std::uint64_t index_offset = 0;
  std::uint64_t stream_size = 0;
  std::uint64_t data_records = 0;   // or segments
  std::uint64_t references = 0;     // version 2: copies in all recipes
  std::uint64_t literal_bytes = 0;  // version 2: of all segments; 0 in version 1
  StreamCheck stream_check;

  bool operator==(const EndHeader&) const = default;
};

using RecordHeader = std::variant<SegmentHeader, DataHeader, ReferenceHeader, IndexHeader, EndHeader>;

// Upper limit of ArchiveHeader::largest_content, which bounds a reader's memory.
inline constexpr std::uint32_t content_limit = std::uint32_t{16} << 20;
inline constexpr std::size_t least_record_header = DataHeader::size;
inline constexpr std::size_t largest_record_header = EndHeader::size;

// Every header has a check over its bytes and its offset, so that a moved record is detected like an altered
// one.
[[nodiscard]] std::array<std::byte, ArchiveHeader::size> encode(const ArchiveHeader& header);
[[nodiscard]] std::array<std::byte, SegmentHeader::size> encode(const SegmentHeader& header,
                                                                std::uint64_t offset);
[[nodiscard]] std::array<std::byte, DataHeader::size> encode(const DataHeader& header, std::uint64_t offset);
[[nodiscard]] std::array<std::byte, ReferenceHeader::size> encode(const ReferenceHeader& header,
                                                                  std::uint64_t offset);
[[nodiscard]] std::array<std::byte, IndexHeader::size> encode(const IndexHeader& header,
                                                              std::uint64_t offset);
[[nodiscard]] std::array<std::byte, EndHeader::size> encode(const EndHeader& header, std::uint64_t offset);
[[nodiscard]] std::array<std::byte, IndexEntry::size> encode(const IndexEntry& entry);

// Failures give the problem, not the position.
[[nodiscard]] Result<ArchiveHeader>
decode_archive_header(std::span<const std::byte, ArchiveHeader::size> bytes);
[[nodiscard]] IndexEntry decode_index_entry(std::span<const std::byte, IndexEntry::size> bytes);
// The size of the record header that begins with this byte.
[[nodiscard]] Result<std::size_t> record_header_size(std::byte first);
// Whether archives of this version have such records.
[[nodiscard]] bool belongs_to(const RecordHeader& header, std::uint16_t version);
// `bytes`: as many as record_header_size() says. `offset`: their position in the archive. Sizes are checked
// against each other and against `largest_content`.
[[nodiscard]] Result<RecordHeader> decode_record_header(std::span<const std::byte> bytes,
                                                        std::uint64_t offset, std::uint32_t largest_content);

// 64-bit XXH3.
[[nodiscard]] std::uint64_t check_of(std::span<const std::byte> bytes);

// check_of() of bytes that arrive in parts.
class RunningCheck {
 public:
  RunningCheck();
  void add(std::span<const std::byte> bytes);
  // Check of the bytes added so far.
  [[nodiscard]] std::uint64_t value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace millrace::dedup
