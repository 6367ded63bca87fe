#include "dedup/unpack.h"

#include "dedup/archive_reader.h"
#include "dedup/buffer_pool.h"
#include "dedup/codec.h"
#include "dedup/fragmenter.h"
#include "dedup/output_file.h"
#include "dedup/record_store.h"
#include "dedup/stream_hash.h"
#include "millrace/stream/flow.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace millrace::dedup {
namespace {

using stream::Kind;

// A part of the stream, or where in the stream it is to be copied from.
struct Restored {
  std::variant<Fragment, RecordStore::Content> content;
  std::optional<ReferenceHeader> reference;
};

// Restores records, on any thread, and writes what they are, in order.
class Restorer {
 public:
  Restorer(std::string name, std::uint32_t largest_content, RandomBytes* restored, RandomBytes* archive,
           ByteSink& sink)
      : name_(std::move(name)), buffers_(largest_content), restored_(restored),
        store_(archive ? std::make_unique<RecordStore>(*archive, name_, largest_content) : nullptr),
        sink_(&sink) {}

  // Thread-safe.
  [[nodiscard]] Result<Restored> restore(const StoredRecord& record) {
    if (const auto* data = std::get_if<DataHeader>(&record.header)) {
      auto memory = buffers_.get();
      const std::span<std::byte> content(memory.get(), data->content_size);
      if (Status done = decompress(data->method, record.payload, content); !done)
        return damaged(name_, record.archive_offset, record.number, done.error().message);
      return Restored{Fragment{std::move(memory), content}, {}};
    }
    const auto& reference = std::get<ReferenceHeader>(record.header);
    if (restored_) return Restored{{}, reference};
    auto content = store_->content_at(reference.archive_offset, record.number);
    if (!content) return std::unexpected(content.error());
    if ((*content)->size() < std::size_t{reference.begin} + reference.length)
      return damaged(name_, record.archive_offset, record.number,
                     "it refers to more bytes than the other record has");
    return Restored{std::move(*content), reference};
  }

  // In the order of the stream.
  [[nodiscard]] Status write(const Restored& part) {
    std::span<const std::byte> bytes;
    if (!part.reference) {
      bytes = std::get<Fragment>(part.content).bytes;
    } else if (const auto* content = std::get_if<RecordStore::Content>(&part.content)) {
      bytes = std::span(**content).subspan(part.reference->begin, part.reference->length);
    } else {
      copy_.resize(part.reference->length);
      if (Status read = restored_->read_at(part.reference->stream_offset + part.reference->begin, copy_);
          !read)
        return read;
      bytes = copy_;
    }
    if (part.reference) {
      ++references_;
      referenced_bytes_ += bytes.size();
    } else {
      ++data_records_;
    }
    hash_.add(bytes);
    stream_size_ += bytes.size();
    return sink_->write(bytes);
  }

  [[nodiscard]] Status check(const EndHeader& end) const {
    if (hash_.value() == end.stream_check) return {};
    return failure(
        "{}: what was restored does not match the check of the whole; take another copy of the archive",
        name_);
  }
  [[nodiscard]] std::uint64_t stream_size() const { return stream_size_; }
  void fill_in(UnpackOutcome& outcome) const {
    outcome.stream_bytes = stream_size_;
    outcome.data_records = data_records_;
    outcome.references = references_;
    outcome.referenced_bytes = referenced_bytes_;
  }

 private:
  std::string name_;
  BufferPool buffers_;
  RandomBytes* restored_;
  std::unique_ptr<RecordStore> store_;
  ByteSink* sink_;
  std::vector<std::byte> copy_;
  StreamHash hash_;
  std::uint64_t stream_size_ = 0;
  std::uint64_t data_records_ = 0;
  std::uint64_t references_ = 0;
  std::uint64_t referenced_bytes_ = 0;
};

}  // namespace

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
  Restorer restorer(source.name(), header->largest_content, options.restored, archive, sink);

  auto made =
      stream::source(
          "read", [&] { return reader.next(); },
          {.blocking = options.source_waits,
           .bytes = [&](const StoredRecord& r) { return r.payload.size() + header->largest_content; }})
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
  outcome.status = finished.status ? restorer.check(reader.end()) : std::unexpected(finished.cause);
  outcome.run = std::move(finished.report);
  outcome.archive_bytes = reader.archive_size();
  restorer.fill_in(outcome);
  return outcome;
}

}  // namespace millrace::dedup
