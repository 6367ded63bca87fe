// RecordStore: random access to the new bytes of records, for copies and references.
#pragma once

#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace millrace::dedup {

// The new bytes of a data record or segment.
struct RecordContent {
  // A run of contiguous literals and its position in the content.
  struct Literals {
    std::uint32_t at_content = 0;
    std::uint32_t at_literals = 0;
    std::uint32_t count = 0;
  };

  std::uint64_t stream_offset = 0;  // of a segment
  std::uint32_t content_size = 0;
  std::vector<std::byte> literals;  // for a data record, its content
  std::vector<std::byte> recipe;    // for a segment
  std::vector<Literals> runs;       // in order; one for a data record

  // `count` bytes that are new in this record; fewer if the record ends before, none if one of them is not
  // new.
  [[nodiscard]] std::span<const std::byte> new_bytes(std::uint64_t begin, std::size_t count) const;
  [[nodiscard]] std::size_t memory() const {
    return literals.size() + recipe.size() + runs.size() * sizeof(Literals);
  }
};

// Caches the most recent contents, because references often come in groups: up to a given number of bytes, or
// one content. Thread-safe.
class RecordStore {
 public:
  using Content = std::shared_ptr<const RecordContent>;

  static constexpr std::size_t least_kept_bytes = std::size_t{16} << 20;

  // `archive` must hold all records that will be requested and outlive the store. `name` is for messages.
  // `largest_content`: from the archive's header.
  RecordStore(RandomBytes& archive, std::string name, std::uint32_t largest_content,
              std::size_t most_kept_bytes = least_kept_bytes);

  // The content of the data record or segment at byte `archive_offset`, which restores the stream from
  // `stream_offset` on. `number`: the requesting record, for messages. Failure if there is no such record, or
  // a damaged one.
  [[nodiscard]] Result<Content> content_at(std::uint64_t archive_offset, std::uint64_t stream_offset,
                                           std::uint64_t number);

 private:
  [[nodiscard]] Content find(std::uint64_t archive_offset);
  [[nodiscard]] Result<Content> load(std::uint64_t archive_offset, std::uint64_t stream_offset,
                                     std::uint64_t number);

  RandomBytes* archive_;
  std::string name_;
  std::uint32_t largest_content_;
  std::size_t most_kept_bytes_;

  struct Kept {
    std::uint64_t archive_offset;
    Content content;
  };
  std::mutex mutex_;
  std::deque<Kept> kept_;  // most recently used first
  std::size_t kept_bytes_ = 0;
};

}  // namespace millrace::dedup
