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
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace millrace::dedup {

// A part of the stream, or where in the stream it is to be copied from.
struct Restored {
  std::variant<Fragment, RecordStore::Content> content;
  std::optional<ReferenceHeader> reference;
};

// Restores records, on any thread, and writes what they are, in order.
class Restorer {
 public:
  // References are resolved by what was written, if `restored` gives it back, or else by data records of
  // `archive`; one of them is there. `name` is the archive's, for messages; `largest_content` is what its
  // header says. The rest outlives it.
  Restorer(std::string name, std::uint32_t largest_content, RandomBytes* restored, RandomBytes* archive,
           ByteSink& sink);

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

}  // namespace millrace::dedup
