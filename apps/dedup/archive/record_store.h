// RecordStore: the new bytes of records out of their order, where copies and references need them.
#pragma once

#include "millrace/base/byte_stream.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace millrace::dedup {

// What a data record or segment has of its own.
struct RecordContent {
  // Literals that stand together in the content, and where.
  struct Literals {
    std::uint32_t at_content = 0;
    std::uint32_t at_literals = 0;
    std::uint32_t count = 0;
  };

  std::uint64_t stream_offset = 0;  // of a segment
  std::uint32_t content_size = 0;
  std::vector<std::byte> literals;  // of a data record, its content
  std::vector<std::byte> recipe;    // of a segment
  std::vector<Literals> runs;       // in order; of a data record, one

  // `count` bytes that are new in this record; fewer where it ends before, none where one of them is not new.
  [[nodiscard]] std::span<const std::byte> new_bytes(std::uint64_t begin, std::size_t count) const;
  [[nodiscard]] std::size_t memory() const {
    return literals.size() + recipe.size() + runs.size() * sizeof(Literals);
  }
};

// Keeps the last few contents, since references often come in groups: as many bytes of them as it is told, or
// one content. Thread-safe.
class RecordStore {
 public:
  using Content = std::shared_ptr<const RecordContent>;

  static constexpr std::size_t least_kept_bytes = std::size_t{16} << 20;

  // `archive`: holds, at the least, the records that will be asked for; outlives the store. `name` is for
  // messages. `largest_content`: as the archive's header says.
  RecordStore(RandomBytes& archive, std::string name, std::uint32_t largest_content,
              std::size_t most_kept_bytes = least_kept_bytes);

  // The content of the data record or segment that begins at byte `archive_offset`, and restores the stream
  // from `stream_offset` on. `number`: of the record that needs it, for messages. Failure if no such record
  // is there, or a damaged one.
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
  std::deque<Kept> kept_;  // the one used last in front
  std::size_t kept_bytes_ = 0;
};

}  // namespace millrace::dedup
