// Restorer: from an archive's records to the bytes of the stream.
#pragma once

#include "dedup/archive/archive_reader.h"
#include "dedup/archive/record_store.h"
#include "dedup/chunks/buffer_pool.h"
#include "dedup/chunks/fragmenter.h"
#include "dedup/chunks/stream_hash.h"
#include "millrace/base/byte_stream.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace millrace::dedup {

// What a record is restored from, as far as that can be done out of order.
struct Restored {
  // Of a data record.
  struct Data {
    Fragment content;
  };
  // Of a reference; without content where what was written is read back.
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

// Restores records, on any thread, and writes what they are, in order.
class Restorer {
 public:
  // What copies and references name is taken from the last segments, of which `kept_bytes` are kept; else
  // from what was written, if `restored` gives it back, or from the records of `archive`, of which as much is
  // kept; one of them is there. `name` is the archive's, for messages; `largest_content` is what its header
  // says. The rest outlives it.
  Restorer(std::string name, std::uint32_t largest_content, RandomBytes* restored, RandomBytes* archive,
           ByteSink& sink, std::size_t kept_bytes = RecordStore::least_kept_bytes);

  // Failure names the damaged record. Thread-safe.
  [[nodiscard]] Result<Restored> restore(const StoredRecord& record);
  // In the order of the stream, by one thread at a time.
  [[nodiscard]] Status write(const Restored& part);
  // After the last: failure if that is not the stream that was packed.
  [[nodiscard]] Status check(const EndHeader& end) const;

  // Of what was written.
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
  // The content of a segment, from its recipe; without room for it, the recipe is only checked.
  [[nodiscard]] Status assemble(const Restored::Segment& segment, std::span<std::byte> content);
  // Fills `to` with what the stream has from `source` on, before the segment.
  [[nodiscard]] Status copy_before(const Restored::Segment& segment, std::uint64_t source,
                                   std::span<std::byte> to);
  void keep(Fragment content);
  [[nodiscard]] Status put(std::span<const std::byte> bytes);

  std::string name_;
  BufferPool buffers_;
  std::deque<Recent> recent_;  // in order, without gaps
  std::size_t most_recent_;
  std::vector<Segment> segments_;  // all, where the archive is asked
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
