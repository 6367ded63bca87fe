// pack: writes a stream of bytes as an archive.
#pragma once

#include "dedup/archive/codec.h"
#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/deduplicator.h"
#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/error/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace millrace::dedup {

// Called by one thread at a time with the number of stream bytes that are done.
using Progress = std::function<void(std::uint64_t stream_bytes)>;

// Default average chunk size. Smaller chunks find little more in file trees and enlarge the table of digests.
inline constexpr std::size_t default_average_chunk = std::size_t{16} << 10;

// Default search distance, in new bytes, for copies shorter than chunks.
inline constexpr std::size_t default_window = std::size_t{128} << 20;

struct PackOptions {
  Compression compression;
  ChunkSizes chunks;
  // Search distance in bytes of new content for copies shorter than chunks: a power of two up to 1 GiB, or 0.
  // Takes this much memory and a sixteenth more.
  std::size_t window = default_window;
  stream::RunOptions run;
  // Whether reading or writing may wait for another program. If so, it gets its own thread.
  bool source_waits = false;
  bool sink_waits = false;
  // Parallel output: 1 to most_writers extra threads write records to their positions with write_at, which
  // several threads may call at the same time. The sink is not used then. 0: the sink is written in order.
  int writers = 0;
  std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)> write_at;
  Progress progress;  // may be empty
};

inline constexpr int most_writers = 256;

// Result of a run; of a failed run, as far as it went.
struct PackOutcome {
  // `interrupted` after a stop.
  Status status;
  std::uint64_t stream_bytes = 0;
  std::uint64_t archive_bytes = 0;
  std::uint64_t segments = 0;
  std::uint64_t copies = 0;
  DedupCounts dedup;
  stream::RunReport run;
};

// Reads `source` to its end. The output depends only on the input, the compression, the chunk sizes and the
// window. It does not depend on strategy, threads, tokens, writers or budget. The byte budget counts
// fragments in flight twice, to include their output.
[[nodiscard]] PackOutcome pack(ByteSource& source, ByteSink& sink, pool::Team& team,
                               const PackOptions& options);

}  // namespace millrace::dedup
