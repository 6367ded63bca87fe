#include "dedup/run/pack.h"

#include "dedup/archive/archive_writer.h"
#include "dedup/archive/record_store.h"
#include "dedup/chunks/buffer_pool.h"
#include "dedup/chunks/fragmenter.h"
#include "millrace/stream/flow.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::dedup {
namespace {

using stream::Kind;

// Unit of compression and of cutting by one thread. It affects the archive's bytes, so it is not an option.
constexpr std::size_t fragment_bytes = std::size_t{4} << 20;

Result<PackedSegment> compressed(Compressor& compressor, BufferPool& buffers, const Segment& segment) {
  const auto bytes = segment.fragment.bytes;
  if (segment.copies == 0) return packed(segment, bytes, compressor);
  const auto room = buffers.get();
  std::size_t filled = 0;
  std::size_t at = 0;
  for (const Piece& piece : segment.pieces) {
    std::ranges::copy(bytes.subspan(at, piece.literals), room.get() + filled);
    filled += piece.literals;
    at += piece.literals + std::size_t{piece.copy};
  }
  return packed(segment, {room.get(), filled}, compressor);
}

// Sink for what precedes and follows the records if those are written in parallel.
class SinkAtOffset final : public ByteSink {
 public:
  explicit SinkAtOffset(const PackOptions& options) : options_(&options) {}
  Status write(std::span<const std::byte> bytes) override {
    Status written = options_->write_at(offset_, bytes);
    offset_ += bytes.size();
    return written;
  }
  void go_to(std::uint64_t offset) { offset_ = offset; }

 private:
  const PackOptions* options_;
  std::uint64_t offset_ = 0;
};

}  // namespace

PackOutcome pack(ByteSource& source, ByteSink& sink, pool::Team& team, const PackOptions& options) {
  PackOutcome outcome;
  const auto key = ChunkDigest::new_key();
  if (!key) {
    outcome.status = std::unexpected(key.error());
    return outcome;
  }
  const ChunkCutter cutter(options.chunks);
  Fragmenter fragmenter(source, cutter, fragment_bytes);
  Deduplicator deduplicator(options.window, fragmenter.most_bytes());
  Compressor compressor(options.compression);
  BufferPool literals(fragmenter.most_bytes(), RecordStore::least_kept_bytes);
  SinkAtOffset around(options);
  ArchiveWriter writer(options.writers > 0 ? static_cast<ByteSink&>(around) : sink);
  outcome.status = writer.begin({.largest_content = static_cast<std::uint32_t>(fragmenter.most_bytes()),
                                 .average_chunk = static_cast<std::uint32_t>(options.chunks.average),
                                 .method = options.compression.method,
                                 .level = static_cast<std::uint8_t>(options.compression.level)});
  if (!outcome.status) return outcome;

  const stream::Port<PackedSegment> known("known");
  auto records =
      stream::source("read", [&] { return fragmenter.next(); },
                     {.blocking = options.source_waits,
                      .bytes = [&](const Fragment& f) { return fragmenter.most_bytes() + f.bytes.size(); }})
          .stage(Kind::parallel, "refine",
                 [&](Fragment fragment) { return cut(std::move(fragment), cutter); })
          .stage(Kind::parallel, "digest",
                 [&key](CutFragment fragment) -> Result<CutFragment> {
                   if (Status done = digest(fragment, *key); !done) return std::unexpected(done.error());
                   return fragment;
                 })
          // In order, so that the first occurrence in the stream is the original. The expensive work is done
          // by then.
          .stage<Segment>(Kind::serial_in_order, "deduplicate",
                          [&, known](CutFragment fragment, stream::Output<Segment>& out) -> Status {
                            Segment segment = deduplicator.divide(std::move(fragment));
                            if (segment.literals > 0) {
                              out.emit(std::move(segment));
                              return {};
                            }
                            auto whole = packed(segment, {}, compressor);
                            if (!whole) return std::unexpected(whole.error());
                            out.emit(known, std::move(*whole));
                            return {};
                          })
          .stage(Kind::parallel, "compress",
                 [&](const Segment& segment) { return compressed(compressor, literals, segment); })
          .land(known);
  const auto progressed = [&] {
    if (options.progress) options.progress(writer.stream_size());
  };
  const auto in_order = [&] {
    return std::move(records).sink(Kind::serial_in_order, "write",
                                   [&](PackedSegment record) {
                                     Status written = writer.add(std::move(record));
                                     if (written) progressed();
                                     return written;
                                   },
                                   {.blocking = options.sink_waits});
  };
  const auto at_offsets = [&] {
    return std::move(records)
        .stage(Kind::serial_in_order, "place",
               [&](PackedSegment record) {
                 PlacedRecord placed = writer.place(std::move(record));
                 progressed();
                 return placed;
               })
        .sink(Kind::parallel, "write",
              [&](const PlacedRecord& record) -> Status {
                if (Status written = options.write_at(record.offset, record.head); !written) return written;
                if (record.literals.empty()) return {};
                return options.write_at(record.offset + record.head.size(), record.literals);
              },
              {.blocking = true, .blocking_threads = options.writers});
  };
  auto made = options.writers > 0 ? at_offsets() : in_order();
  if (!made) {
    outcome.status = std::unexpected(made.error());
    return outcome;
  }
  stream::Finished finished = made->run(team, options.run);
  around.go_to(writer.archive_size());
  outcome.status =
      finished.status ? writer.finish(fragmenter.stream_check()) : std::unexpected(finished.cause);
  outcome.run = std::move(finished.report);
  outcome.stream_bytes = writer.stream_size();
  outcome.archive_bytes = writer.archive_size();
  outcome.segments = writer.segments();
  outcome.copies = writer.copies();
  outcome.dedup = deduplicator.counts();
  return outcome;
}

}  // namespace millrace::dedup
