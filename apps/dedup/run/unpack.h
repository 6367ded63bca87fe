// unpack: restores the stream of an archive.
#pragma once

#include "dedup/archive/record_store.h"
#include "dedup/run/pack.h"
#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/error/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::dedup {

// Source of the bytes for copies and references; the first available of:
//   restored   the written stream can be read back: bytes are copied from it
//   archive    the archive allows random access: the record is restored again
//   neither    records are kept in an unnamed temporary file and read from it
// Copies from the last segments always come from memory. If records are restored again, those with copies
// from them wait in memory, so that each is restored once for many of them.
struct UnpackOptions {
  RandomBytes* restored = nullptr;
  RandomBytes* archive = nullptr;
  // Cache of the last segments, and memory for records that are restored again and those that wait for them.
  std::size_t kept_bytes = RecordStore::least_kept_bytes;
  // Maximum number of bytes to restore. A larger archive is a failure, and no byte beyond the limit is
  // written.
  std::optional<std::uint64_t> limit;
  stream::RunOptions run;
  // Whether reading or writing may wait for another program. If so, it gets its own thread.
  bool source_waits = false;
  bool sink_waits = false;
  Progress progress;  // may be empty
};

struct UnpackOutcome {
  // Failures name the byte and the record of the damage; `interrupted` after a stop.
  Status status;
  std::uint64_t stream_bytes = 0;
  std::uint64_t archive_bytes = 0;
  std::uint64_t data_records = 0;
  std::uint64_t references = 0;
  std::uint64_t referenced_bytes = 0;
  stream::RunReport run;
};

// Writes the stream to `sink`. Bytes written before a failure are the correct beginning of the stream,
// because each record has passed its checks. Memory: the byte budget; one more record with its payload;
// `kept_bytes`, up to twice and 1 MiB if the written stream cannot be read back;
// RecordStore::least_kept_bytes of buffers for the next records; and 33 bytes per record.
[[nodiscard]] UnpackOutcome unpack(ByteSource& source, ByteSink& sink, pool::Team& team,
                                   const UnpackOptions& options);

// The failure of unpack() at the limit. `stream_bytes`: size of the restored stream, if known.
[[nodiscard]] std::unexpected<Error>
beyond_limit(const std::string& name, std::optional<std::uint64_t> stream_bytes, std::uint64_t limit);

}  // namespace millrace::dedup
