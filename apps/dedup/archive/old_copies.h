// OldCopies: copies from records that are no longer in memory, gathered to restore each such record once.
//
//   OldCopies copies(stop);
//   copies.add({.number = 7, .archive_offset = 4711}, 100, 9000, room);     // and many more
//   if (Status filled = copies.fill(store, origins, "a.mrd"); !filled) ...  // `room` has bytes 100 onwards
#pragma once

#include "dedup/archive/archive_format.h"
#include "dedup/archive/record_store.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace millrace::dedup {

// Restoring a record of 16 MiB for a copy of a few bytes is slow. An archive can ask for it with each copy,
// and name another record every time. So the copies are served in the order of their sources.
class OldCopies {
 public:
  // A record that has copies.
  struct Record {
    std::uint64_t number = 0;
    std::uint64_t archive_offset = 0;
    bool operator==(const Record&) const = default;
  };

  explicit OldCopies(std::stop_token stop) : stop_(std::move(stop)) {}

  // Notes a copy of the stream's bytes from `source` on to byte `place` of the stream, which `record`
  // restores. `to` is filled later and must stay valid until then. Places must ascend.
  void add(const Record& record, std::uint64_t source, std::uint64_t place, std::span<std::byte> to);

  // Fills and forgets all copies. `origins`: the records with data, in the order of the stream; the copies
  // are from these. `name`: of the archive, for messages. A failure names the damaged record; `interrupted`
  // after a stop. Afterwards nothing is left, in case of failure too.
  [[nodiscard]] Status fill(RecordStore& store, std::span<const IndexEntry> origins, const std::string& name);

  // Forgets the copies to byte `place` of the stream and behind it.
  void forget_from(std::uint64_t place);

  [[nodiscard]] bool empty() const { return copies_.empty(); }
  [[nodiscard]] std::size_t memory() const {
    return copies_.size() * sizeof(Copy) + records_.size() * sizeof(Record);
  }

 private:
  struct Copy {
    std::uint64_t source;
    std::uint64_t place;
    std::byte* to;
    std::uint32_t count;
    std::uint32_t record;  // in records_
  };

  std::stop_token stop_;
  std::vector<Record> records_;
  std::vector<Copy> copies_;
};

}  // namespace millrace::dedup
