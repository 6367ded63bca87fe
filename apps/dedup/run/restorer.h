// Restorer: turns an archive's records into the bytes of the stream.
#pragma once

#include "dedup/archive/archive_reader.h"
#include "dedup/archive/old_copies.h"
#include "dedup/archive/record_store.h"
#include "dedup/chunks/buffer_pool.h"
#include "dedup/chunks/fragmenter.h"
#include "dedup/chunks/stream_hash.h"
#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace millrace::dedup {

// The work on a record that can be done out of order.
struct Restored {
  // From a data record.
  struct Data {
    Fragment content;
  };
  struct Reference {
    ReferenceHeader header;
  };
  struct Segment {
    SegmentHeader header;
    Fragment literals;
    std::vector<std::byte> recipe;
  };
  std::variant<Data, Reference, Segment> part;
  OldCopies::Record record;
};

// Restores records on any thread and writes them in order. Records with copies from the archive wait in
// memory until there are enough of them, because each record of the archive is then restored once for all.
class Restorer {
 public:
  // Bytes for copies come from the last segments, of which `kept_bytes` are cached. Otherwise they come from
  // `restored`, the written stream, if it is given; else from the records of `archive`. Their cache and the
  // records that wait for them take another `kept_bytes`, but at least 1 MiB. One of the two must be given.
  // `name`: of the archive, for messages. `largest_content`: from its header. Arguments must outlive the
  // restorer.
  Restorer(std::string name, std::uint32_t largest_content, RandomBytes* restored, RandomBytes* archive,
           ByteSink& sink, std::size_t kept_bytes = RecordStore::least_kept_bytes, std::stop_token stop = {});

  // A failure names the damaged record. Thread-safe.
  [[nodiscard]] Result<Restored> restore(const StoredRecord& record);
  // In stream order, by one thread at a time. `interrupted` after a stop.
  [[nodiscard]] Status write(const Restored& part);
  // Writes the records that wait. After the last record, or to write as much as possible after a failure.
  [[nodiscard]] Status finish();
  // After finish(): failure if the stream differs from the packed one.
  [[nodiscard]] Status check(const EndHeader& end) const;

  // Totals of the written records.
  [[nodiscard]] std::uint64_t stream_size() const { return written_; }
  [[nodiscard]] std::uint64_t data_records() const { return data_records_; }
  [[nodiscard]] std::uint64_t references() const { return references_; }
  [[nodiscard]] std::uint64_t referenced_bytes() const { return referenced_bytes_; }

 private:
  // A part of a content, in bytes from its beginning.
  struct Range {
    std::uint32_t begin;
    std::uint32_t end;
  };
  // Where the bytes of a content are new, in order.
  using NewBytes = std::vector<Range>;
  [[nodiscard]] static bool covers(const NewBytes& ranges, std::uint64_t begin, std::uint64_t count);
  struct Recent {
    std::uint64_t stream_offset;
    Fragment content;
    NewBytes new_bytes;  // unless copies are read from the written stream
  };

  // Memory for a content.
  struct Room {
    std::shared_ptr<std::byte[]> memory;
    std::size_t memory_bytes;
  };
  [[nodiscard]] Room room_for(std::size_t content_size);
  [[nodiscard]] Status write(const Restored::Data& data, const OldCopies::Record& record);
  [[nodiscard]] Status write(const Restored::Reference& reference, const OldCopies::Record& record);
  [[nodiscard]] Status write(const Restored::Segment& segment, const OldCopies::Record& record);
  // Builds the content of a segment from its recipe, as far as it need not wait, and tells where it is new.
  // If `content` is empty, only checks the recipe.
  [[nodiscard]] Status assemble(const Restored::Segment& segment, const OldCopies::Record& record,
                                std::span<std::byte> content, NewBytes& new_bytes);
  // Fills `to`, which is byte `place` of the stream, with the stream's bytes from `source` on, which precede
  // the record. Notes what must wait.
  [[nodiscard]] Status copy_before(const OldCopies::Record& record, std::uint64_t source, std::uint64_t place,
                                   std::span<std::byte> to);
  // Writes the content of the next record, or lets it wait, and keeps it. `memory`: of its buffer.
  [[nodiscard]] Status append(Fragment content, std::size_t memory, NewBytes new_bytes);
  void forget_old();
  [[nodiscard]] Status put(std::span<const std::byte> bytes);
  [[nodiscard]] std::unexpected<Error> refused(const OldCopies::Record& record,
                                               const std::string& what) const;

  std::string name_;
  std::uint32_t largest_content_;
  BufferPool buffers_;
  std::deque<Recent> recent_;  // in order, without gaps
  std::size_t most_recent_;
  // The last of `recent_` wait for old copies.
  std::size_t waiting_ = 0;
  std::size_t waiting_memory_ = 0;
  std::size_t most_waiting_memory_;
  OldCopies old_copies_;
  std::vector<IndexEntry> origins_;  // all records with data, if copies are read from the archive
  RandomBytes* restored_;
  std::unique_ptr<RecordStore> store_;
  ByteSink* sink_;
  std::stop_token stop_;
  StreamHash hash_;
  std::uint64_t stream_size_ = 0;  // with the records that wait
  std::uint64_t written_ = 0;
  std::uint64_t data_records_ = 0;
  std::uint64_t references_ = 0;
  std::uint64_t referenced_bytes_ = 0;
};

}  // namespace millrace::dedup
