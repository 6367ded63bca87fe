// Records: the common format of index files and journals. A file begins with a mark of 16 letters, which
// identifies its type, and a version. Records follow. Each has a checksum that also covers its position, so
// that altered, truncated, missing and moved records are detected.
//
//   mark      16 bytes
//   version   u32
//   records   kind u32, length u32, checksum u64, payload. The checksum is the XXH3-64 of the payload, seeded
//             by the XXH3-64 of length and kind, seeded by the offset of the record
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::similar {

inline constexpr std::size_t mark_size = 16;
inline constexpr std::size_t record_header_size = 16;
inline constexpr std::size_t first_record_offset = mark_size + 4;

// The beginning of a file. mark: 16 letters.
[[nodiscard]] std::vector<std::byte> file_start(std::string_view mark, std::uint32_t version);

// Encodes a record for position `offset`. Payloads are below 4 GiB.
[[nodiscard]] std::vector<std::byte> record_bytes(std::uint64_t offset, std::uint32_t kind,
                                                  std::span<const std::byte> payload);

struct Record {
  std::uint64_t offset = 0;
  std::uint32_t kind = 0;
  std::span<const std::byte> payload;  // points into the file's bytes
};

// Iterates over the records of a file in memory.
class RecordReader {
 public:
  // A failure gives the problem but not the file's name: not a file of type `what`, another version,
  // truncated.
  [[nodiscard]] static Result<RecordReader> open(std::span<const std::byte> file, std::string_view mark,
                                                 std::uint32_t version, std::string_view what);

  // The next record; nullopt at the end. A failure gives the problem and the byte.
  [[nodiscard]] Result<std::optional<Record>> next();

  // End of the last intact record.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  explicit RecordReader(std::span<const std::byte> file) : file_(file) {}

  std::span<const std::byte> file_;
  std::uint64_t offset_ = first_record_offset;
};

// Whether the bytes start with the mark, whatever follows.
[[nodiscard]] bool has_mark(std::span<const std::byte> file, std::string_view mark);

}  // namespace millrace::similar
