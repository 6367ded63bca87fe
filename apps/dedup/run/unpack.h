// unpack: an archive to the stream that it was made of.
#pragma once

#include "dedup/archive/record_store.h"
#include "dedup/run/pack.h"
#include "millrace/base/byte_stream.h"
#include "millrace/base/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::dedup {

// Where the bytes of copies and references come from is found out from what there is, the first of:
//   restored   what was written can be read back: they are copied from there
//   archive    the archive can be read at any place: the record is restored once more
//   neither    records are kept, as they are, in a temporary file without a name, and read from there
// Those of copies from the last segments, in any case, from memory.
struct UnpackOptions {
  RandomBytes* restored = nullptr;
  RandomBytes* archive = nullptr;
  // Bytes of the last segments that are kept for copies, and as many, at the most, of records restored once
  // more.
  std::size_t kept_bytes = RecordStore::least_kept_bytes;
  // The most bytes to restore: an archive that has more is a failure, before one byte more is written.
  std::optional<std::uint64_t> limit;
  stream::RunOptions run;
  // Whether reading, and writing, may wait for another program. What waits gets a thread of its own.
  bool source_waits = false;
  bool sink_waits = false;
  Progress progress;  // may be empty
};

struct UnpackOutcome {
  // Failures name the byte and the record where the archive is damaged; of kind interrupted after a stop.
  Status status;
  std::uint64_t stream_bytes = 0;
  std::uint64_t archive_bytes = 0;
  std::uint64_t data_records = 0;
  std::uint64_t references = 0;
  std::uint64_t referenced_bytes = 0;
  stream::RunReport run;
};

// Writes the stream to `sink`. Whatever is written before a failure is the beginning of the right stream,
// each record having passed its checks. Memory: the byte budget and one record more, with its payload;
// `kept_bytes`, once where what was written can be read back and up to twice where not, and
// RecordStore::least_kept_bytes of buffers for the next records; and 33 bytes for every record.
[[nodiscard]] UnpackOutcome unpack(ByteSource& source, ByteSink& sink, pool::Team& team,
                                   const UnpackOptions& options);

// What unpack() fails with at the limit. `stream_bytes`: what the archive restores, where that is known.
[[nodiscard]] std::unexpected<Error>
beyond_limit(const std::string& name, std::optional<std::uint64_t> stream_bytes, std::uint64_t limit);

}  // namespace millrace::dedup
