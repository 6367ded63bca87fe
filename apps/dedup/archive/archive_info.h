// What an archive holds, told without restoring it.
#pragma once

#include "dedup/archive/archive_format.h"
#include "millrace/base/input_file.h"
#include "millrace/base/result.h"

#include <cstdint>
#include <vector>

namespace millrace::dedup {

// Where the records of an archive in a file are.
struct ArchiveMap {
  ArchiveHeader header;
  EndHeader end;
  // Of every record, in order, and one more behind them: the stream's size and where the index begins.
  std::vector<IndexEntry> entries;
};
// Reads both ends and the index. Failure that names what is wrong.
[[nodiscard]] Result<ArchiveMap> archive_map(InputFile& archive, std::uint64_t size);

struct ArchiveInfo {
  ArchiveHeader header;
  std::uint64_t archive_bytes = 0;
  std::uint64_t stream_bytes = 0;      // that it restores
  std::uint64_t data_records = 0;      // or segments
  std::uint64_t references = 0;        // or copies in segments
  std::uint64_t payload_bytes = 0;     // of data records, or segments
  std::uint64_t referenced_bytes = 0;  // that references, or copies, restore
  std::uint64_t new_bytes() const { return stream_bytes - referenced_bytes; }
};

// Of a file, from its two ends and the index (and, of version 1, the headers of records that the index does
// not tell apart), so that it takes no longer for a large one than for a small one; of a pipe, which is read
// to its end, from the records. Both ways find damage where they look: failures are those of ArchiveReader.
[[nodiscard]] Result<ArchiveInfo> archive_info(InputFile& archive);

// The end of an archive that is `size` bytes long: how much it restores. Damage, or an archive that is cut
// off, is a failure.
[[nodiscard]] Result<EndHeader> read_end(RandomBytes& archive, std::uint64_t size, const std::string& name,
                                         std::uint32_t largest_content);

}  // namespace millrace::dedup
