#include "dedup/archive/old_copies.h"

#include "dedup/archive/archive_reader.h"

#include <algorithm>
#include <limits>

namespace millrace::dedup {

void OldCopies::add(const Record& record, std::uint64_t source, std::uint64_t place,
                    std::span<std::byte> to) {
  if (records_.empty() || records_.back() != record) records_.push_back(record);
  copies_.push_back({source, place, to.data(), static_cast<std::uint32_t>(to.size()),
                     static_cast<std::uint32_t>(records_.size() - 1)});
}

void OldCopies::forget_from(std::uint64_t place) {
  copies_.erase(std::ranges::lower_bound(copies_, place, {}, &Copy::place), copies_.end());
}

Status OldCopies::fill(RecordStore& store, std::span<const IndexEntry> origins, const std::string& name) {
  const std::vector<Record> records = std::exchange(records_, {});
  std::vector<Copy> copies = std::exchange(copies_, {});
  std::ranges::sort(copies, {}, &Copy::source);
  // Rests of copies that go on in the next record; all begin where it does.
  std::vector<Copy> rests;
  for (auto next = copies.begin(); next != copies.end() || !rests.empty();) {
    if (stop_.stop_requested()) return std::unexpected(Error{ErrorKind::interrupted, "interrupted"});
    const Copy& first = rests.empty() ? *next : rests.front();
    const auto behind = std::ranges::upper_bound(origins, first.source, {}, &IndexEntry::stream_offset);
    const IndexEntry& origin = *(behind - 1);
    const std::uint64_t end =
        behind == origins.end() ? std::numeric_limits<std::uint64_t>::max() : behind->stream_offset;
    const auto content =
        store.content_at(origin.archive_offset, origin.stream_offset, records[first.record].number);
    if (!content) return std::unexpected(content.error());
    std::vector<Copy> further;
    const auto serve = [&](Copy copy) -> Status {
      const auto found = (*content)->new_bytes(copy.source - origin.stream_offset, copy.count);
      if (found.empty()) {
        const Record& record = records[copy.record];
        return damaged(name, record.archive_offset, record.number,
                       "it copies bytes that are not new where they are");
      }
      std::ranges::copy(found, copy.to);
      copy.source += found.size();
      copy.to += found.size();
      copy.count -= static_cast<std::uint32_t>(found.size());
      if (copy.count > 0) further.push_back(copy);
      return {};
    };
    for (const Copy& rest : rests)
      if (Status served = serve(rest); !served) return served;
    for (; next != copies.end() && next->source < end; ++next)
      if (Status served = serve(*next); !served) return served;
    rests = std::move(further);
  }
  return {};
}

}  // namespace millrace::dedup
