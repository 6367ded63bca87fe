// pack: a stream of bytes to an archive.
#pragma once

#include "dedup/archive/codec.h"
#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/deduplicator.h"
#include "millrace/base/byte_stream.h"
#include "millrace/base/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace millrace::dedup {

// Called by one thread at a time with the bytes of the stream that are done.
using Progress = std::function<void(std::uint64_t stream_bytes)>;

// The average chunk unless another is asked for: smaller ones find little more in file trees and make the
// table of digests larger.
inline constexpr std::size_t default_average_chunk = std::size_t{16} << 10;

// How far back in what is new near copies are looked for, unless asked otherwise.
inline constexpr std::size_t default_window = std::size_t{128} << 20;

struct PackOptions {
  Compression compression;
  ChunkSizes chunks;
  // Bytes of new content in which what is new is looked for once more, in pieces shorter than chunks: a power
  // of two up to 1 GiB, or 0. Takes this much memory and a sixteenth more.
  std::size_t window = default_window;
  stream::RunOptions run;
  // Whether reading, and writing, may wait for another program. What waits gets a thread of its own.
  bool source_waits = false;
  bool sink_waits = false;
  // Parallel output: 1 to most_writers threads of their own write records where they belong, by write_at,
  // which may be called by several at a time; the sink is then left alone. 0: the sink is written in order.
  int writers = 0;
  std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)> write_at;
  Progress progress;  // may be empty
};

inline constexpr int most_writers = 256;

// What came of a run; of one that failed, as far as it went.
struct PackOutcome {
  // Of kind interrupted after a stop.
  Status status;
  std::uint64_t stream_bytes = 0;
  std::uint64_t archive_bytes = 0;
  std::uint64_t segments = 0;
  std::uint64_t copies = 0;
  DedupCounts dedup;
  stream::RunReport run;
};

// Reads `source` to its end. The bytes written depend on those read, the compression, the chunk sizes and the
// window, and on nothing else: not on strategy, threads, tokens, writers or budget. The byte budget counts
// the fragments in flight with as much again for what they become.
[[nodiscard]] PackOutcome pack(ByteSource& source, ByteSink& sink, pool::Team& team,
                               const PackOptions& options);

}  // namespace millrace::dedup
