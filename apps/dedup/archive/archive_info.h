// Describes an archive's contents without restoring it.
#pragma once

#include "dedup/archive/archive_format.h"
#include "millrace/base/error/result.h"
#include "millrace/base/file/input_file.h"

#include <cstdint>
#include <vector>

namespace millrace::dedup {

// Positions of the records of an archive file.
struct ArchiveMap {
  ArchiveHeader header;
  EndHeader end;
  // One entry per record, in order, and a final one with the size of the stream and the position of the
  // index.
  std::vector<IndexEntry> entries;
};
// Reads both ends and the index. A failure names the problem.
[[nodiscard]] Result<ArchiveMap> archive_map(InputFile& archive, std::uint64_t size);

struct ArchiveInfo {
  ArchiveHeader header;
  std::uint64_t archive_bytes = 0;
  std::uint64_t stream_bytes = 0;      // size of the restored stream
  std::uint64_t data_records = 0;      // or segments
  std::uint64_t references = 0;        // or copies in segments
  std::uint64_t payload_bytes = 0;     // in data records or segments
  std::uint64_t referenced_bytes = 0;  // restored by references or copies
  std::uint64_t new_bytes() const { return stream_bytes - referenced_bytes; }
};

// A file is described from its two ends and the index (for version 1 also from headers of records that the
// index does not distinguish), so size hardly matters. A pipe is read to its end. Both ways detect damage in
// what they read; failures are those of ArchiveReader.
[[nodiscard]] Result<ArchiveInfo> archive_info(InputFile& archive);

// Reads the end record of an archive of `size` bytes, which has the size of the restored stream. Failure if
// it is damaged or the archive is truncated.
[[nodiscard]] Result<EndHeader> read_end(RandomBytes& archive, std::uint64_t size, const std::string& name,
                                         std::uint32_t largest_content);

}  // namespace millrace::dedup
