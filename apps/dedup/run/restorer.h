// Restorer: turns an archive's records into the bytes of the stream.
#pragma once

#include "dedup/archive/archive_reader.h"
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
  // From a reference; without content if the written stream can be read back.
  struct Reference {
    ReferenceHeader header;
    RecordStore::Content content;
  };
  struct Segment {
    SegmentHeader header;
    Fragment literals;
    std::vector<std::byte> recipe;
    std::uint64_t number = 0;  // of the record
    std::uint64_t archive_offset = 0;
  };
  std::variant<Data, Reference, Segment> part;
};

// Restores records on any thread and writes them in order.
class Restorer {
 public:
  // Bytes for copies come from the last segments, of which `kept_bytes` are cached. Otherwise they come from
  // `restored`, the written stream, if it is given; else from the records of `archive`, with a cache of the
  // same size. One of the two must be given. `name`: of the archive, for messages. `largest_content`: from
  // its header. Arguments must outlive the restorer.
  Restorer(std::string name, std::uint32_t largest_content, RandomBytes* restored, RandomBytes* archive,
           ByteSink& sink, std::size_t kept_bytes = RecordStore::least_kept_bytes);

  // A failure names the damaged record. Thread-safe.
  [[nodiscard]] Result<Restored> restore(const StoredRecord& record);
  // In stream order, by one thread at a time.
  [[nodiscard]] Status write(const Restored& part);
  // After the last record: failure if the stream differs from the packed one.
  [[nodiscard]] Status check(const EndHeader& end) const;

  // Totals of the written records.
  [[nodiscard]] std::uint64_t stream_size() const { return stream_size_; }
  [[nodiscard]] std::uint64_t data_records() const { return data_records_; }
  [[nodiscard]] std::uint64_t references() const { return references_; }
  [[nodiscard]] std::uint64_t referenced_bytes() const { return referenced_bytes_; }

 private:
  struct Recent {
    std::uint64_t stream_offset;
    Fragment content;
  };
  struct Segment {
    std::uint64_t stream_offset;
    std::uint64_t archive_offset;
  };

  [[nodiscard]] Status write(const Restored::Reference& reference);
  [[nodiscard]] Status write(const Restored::Segment& segment);
  // Builds the content of a segment from its recipe. If `content` is empty, only checks the recipe.
  [[nodiscard]] Status assemble(const Restored::Segment& segment, std::span<std::byte> content);
  // Fills `to` with the stream's bytes from `source` on, which precede the segment.
  [[nodiscard]] Status copy_before(const Restored::Segment& segment, std::uint64_t source,
                                   std::span<std::byte> to);
  void keep(Fragment content);
  [[nodiscard]] Status put(std::span<const std::byte> bytes);

  std::string name_;
  BufferPool buffers_;
  std::deque<Recent> recent_;  // in order, without gaps
  std::size_t most_recent_;
  std::vector<Segment> segments_;  // all of them, if copies are read from the archive
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

}  // namespace millrace::dedup
