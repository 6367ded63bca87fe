#include "dedup/run/unpack.h"

#include "dedup/archive/archive_reader.h"
#include "dedup/run/restorer.h"
#include "millrace/base/file/output_file.h"
#include "millrace/stream/flow.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace millrace::dedup {

using stream::Kind;

namespace {

// The record that was read, or a failure if the stream with it exceeds the limit.
Result<std::optional<StoredRecord>> within(std::optional<std::uint64_t> limit,
                                           Result<std::optional<StoredRecord>> record,
                                           const std::string& name) {
  if (!limit || !record || !*record || (*record)->stream_offset + (*record)->content_size() <= *limit)
    return record;
  return beyond_limit(name, std::nullopt, *limit);
}

// Memory of a record until it is written or waits in the restorer: its payload and its new bytes.
std::size_t working_bytes(const StoredRecord& record, std::uint32_t largest_content) {
  if (std::holds_alternative<ReferenceHeader>(record.header)) return sizeof record;
  const auto* segment = std::get_if<SegmentHeader>(&record.header);
  return largest_content + record.payload.size() + (segment ? segment->recipe_size : 0);
}

}  // namespace

std::unexpected<Error> beyond_limit(const std::string& name, std::optional<std::uint64_t> stream_bytes,
                                    std::uint64_t limit) {
  return failure("{}: restores {}more than the limit of {} bytes; if you trust it, give a larger --limit",
                 name, stream_bytes ? fmt::format("{} bytes, ", *stream_bytes) : "", limit);
}

UnpackOutcome unpack(ByteSource& source, ByteSink& sink, pool::Team& team, const UnpackOptions& options) {
  UnpackOutcome outcome;
  RandomBytes* archive = options.archive;
  std::unique_ptr<OutputFile> spool;
  ArchiveReader::Copy copy;
  if (!options.restored && !options.archive) {
    auto file = OutputFile::temporary(options.run.stop);
    if (!file) {
      outcome.status = std::unexpected(file.error());
      return outcome;
    }
    spool = std::move(*file);
    archive = spool.get();
    copy = [&spool](std::uint64_t offset, std::span<const std::byte> bytes) {
      return spool->write_at(offset, bytes);
    };
  }
  ArchiveReader reader(source, std::move(copy));
  const auto header = reader.begin();
  if (!header) {
    outcome.status = std::unexpected(header.error());
    return outcome;
  }
  Restorer restorer(source.name(), header->largest_content, options.restored, archive, sink,
                    options.kept_bytes, options.run.stop);

  auto made = stream::source(
                  "read", [&] { return within(options.limit, reader.next(), source.name()); },
                  {.blocking = options.source_waits,
                   .bytes = [&](const StoredRecord& r) { return working_bytes(r, header->largest_content); }})
                  .stage(Kind::parallel, "decompress",
                         [&](const StoredRecord& record) { return restorer.restore(record); })
                  .sink(Kind::serial_in_order, "write",
                        [&](const Restored& part) {
                          Status written = restorer.write(part);
                          if (written && options.progress) options.progress(restorer.stream_size());
                          return written;
                        },
                        {.blocking = options.sink_waits});
  if (!made) {
    outcome.status = std::unexpected(made.error());
    return outcome;
  }
  stream::Finished finished = made->run(team, options.run);
  const bool stopped = !finished.status && finished.cause.kind == ErrorKind::interrupted;
  Status rest = stopped ? Status() : restorer.finish();
  if (finished.status && rest) rest = restorer.check(reader.end());
  outcome.status = finished.status ? rest : std::unexpected(finished.cause);
  outcome.run = std::move(finished.report);
  outcome.archive_bytes = reader.archive_size();
  outcome.stream_bytes = restorer.stream_size();
  outcome.data_records = restorer.data_records();
  outcome.references = restorer.references();
  outcome.referenced_bytes = restorer.referenced_bytes();
  return outcome;
}

}  // namespace millrace::dedup
