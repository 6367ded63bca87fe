#include "dedup/run/restore_part.h"

#include "dedup/archive/archive_info.h"
#include "dedup/archive/archive_reader.h"
#include "dedup/archive/old_copies.h"
#include "dedup/archive/recipe.h"
#include "dedup/archive/record_store.h"
#include "dedup/run/unpack.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::dedup {
namespace {

// Restores parts of records. Those with copies wait in memory until there are enough of them, because each
// record that they copy from is then restored once for all.
class Parts {
 public:
  Parts(InputFile& archive, const ArchiveMap& map, std::size_t kept_bytes, ByteSink& sink,
        std::stop_token stop)
      : archive_(&archive), map_(&map), sink_(&sink),
        store_(archive, archive.name(), map.header.largest_content, kept_bytes - kept_bytes / 2),
        copies_(std::move(stop)), most_waiting_memory_(std::max(kept_bytes / 2, std::size_t{1} << 20)) {}

  // Writes the bytes from `first` to `last` of record `number`, which must contain them, or lets them wait.
  [[nodiscard]] Status add(std::size_t number, std::uint64_t first, std::uint64_t last) {
    const IndexEntry& entry = map_->entries[number];
    const std::uint64_t length = map_->entries[number + 1].stream_offset - entry.stream_offset;
    std::array<std::byte, largest_record_header> room{};
    if (Status read = archive_->read_at(entry.archive_offset, std::span(room).first(1)); !read) return read;
    const auto size = record_header_size(room.front());
    if (!size) return refused(number, size.error().message);
    const std::span<std::byte> bytes = std::span(room).first(*size);
    if (Status read = archive_->read_at(entry.archive_offset, bytes); !read) return read;
    const auto header = decode_record_header(bytes, entry.archive_offset, map_->header.largest_content);
    if (!header) return refused(number, header.error().message);
    if (!belongs_to(*header, map_->header.version) || std::holds_alternative<IndexHeader>(*header) ||
        std::holds_alternative<EndHeader>(*header))
      return refused(number, "it holds no data");
    waiting_.emplace_back(last - first);
    waiting_memory_ += last - first + memory_beside_content;
    if (Status made = fill(number, *header, length, first, last); !made) return made;
    return copies_.empty() || waiting_memory_ + copies_.memory() >= most_waiting_memory_ ? finish()
                                                                                         : Status();
  }

  // Writes what waits.
  [[nodiscard]] Status finish() {
    if (Status filled = copies_.fill(store_, origins(), archive_->name()); !filled) return filled;
    for (const std::vector<std::byte>& bytes : std::exchange(waiting_, {}))
      if (Status written = sink_->write(bytes); !written) return written;
    waiting_memory_ = 0;
    return {};
  }

 private:
  // Of a vector and its allocation.
  static constexpr std::size_t memory_beside_content = 64;

  // Fills the last of `waiting_`, as far as it need not wait.
  [[nodiscard]] Status fill(std::size_t number, const RecordHeader& header, std::uint64_t length,
                            std::uint64_t first, std::uint64_t last) {
    const IndexEntry& entry = map_->entries[number];
    if (const auto* reference = std::get_if<ReferenceHeader>(&header)) {
      if (reference->length != length) return refused(number, "the index does not match it");
      return refer(number, *reference, first);
    }
    const auto content = store_.content_at(entry.archive_offset, entry.stream_offset, number);
    if (!content) return std::unexpected(content.error());
    if ((*content)->content_size != length) return refused(number, "the index does not match it");
    if (!(*content)->recipe.empty()) return assemble(number, **content, first, last);
    std::ranges::copy((*content)->new_bytes(first, last - first), waiting_.back().begin());
    return {};
  }

  [[nodiscard]] Status refer(std::size_t number, const ReferenceHeader& reference, std::uint64_t first) {
    const std::uint64_t source = reference.stream_offset + reference.begin;
    const auto origin =
        std::ranges::lower_bound(map_->entries, reference.archive_offset, {}, &IndexEntry::archive_offset);
    const auto place = map_->entries.begin() + static_cast<std::ptrdiff_t>(number);
    if (origin >= place) return refused(number, "it refers to a record that is not before it");
    if (origin->archive_offset != reference.archive_offset ||
        origin->stream_offset != reference.stream_offset || source < origin->stream_offset)
      return refused(number, "the index does not match it");
    if (source >= (origin + 1)->stream_offset || reference.length > (origin + 1)->stream_offset - source)
      return refused(number, "it refers to more bytes than the other record has");
    return copy(number, source + first, place->stream_offset + first, waiting_.back());
  }

  // The same for a segment.
  [[nodiscard]] Status assemble(std::size_t number, const RecordContent& content, std::uint64_t first,
                                std::uint64_t last) {
    const std::span<std::byte> to = waiting_.back();
    RecipeReader reader(content.recipe,
                        {.stream_offset = content.stream_offset,
                         .content_size = content.content_size,
                         .literal_size = static_cast<std::uint32_t>(content.literals.size())});
    std::uint64_t at = 0;
    std::size_t literals = 0;
    // The requested subset of `count` bytes at `at`: how many to skip, and how many to take.
    const auto wanted = [&](std::uint64_t count) {
      const std::uint64_t from = std::clamp(first, at, at + count);
      return std::pair<std::size_t, std::size_t>(from - at, std::clamp(last, from, at + count) - from);
    };
    while (!reader.at_end() && at < last) {
      const auto piece = reader.next();
      if (!piece) return refused(number, piece.error().message);
      if (const auto [skipped, count] = wanted(piece->literals); count > 0)
        std::ranges::copy(std::span(content.literals).subspan(literals + skipped, count),
                          to.subspan(at + skipped - first).begin());
      literals += piece->literals;
      at += piece->literals;
      if (const auto [skipped, count] = wanted(piece->copy); count > 0)
        if (Status done = copy(number, piece->source + skipped, content.stream_offset + at + skipped,
                               to.subspan(at + skipped - first, count));
            !done)
          return done;
      at += piece->copy;
    }
    return {};
  }

  [[nodiscard]] Status copy(std::size_t number, std::uint64_t source, std::uint64_t place,
                            std::span<std::byte> to) {
    copies_.add({number, map_->entries[number].archive_offset}, source, place, to);
    // A single record may have more copies than memory for them.
    if (copies_.memory() < most_waiting_memory_) return {};
    return copies_.fill(store_, origins(), archive_->name());
  }

  // Without the final entry.
  [[nodiscard]] std::span<const IndexEntry> origins() const {
    return std::span(map_->entries).first(map_->entries.size() - 1);
  }

  [[nodiscard]] std::unexpected<Error> refused(std::size_t number, const std::string& what) const {
    return damaged(archive_->name(), map_->entries[number].archive_offset, number, what);
  }

  InputFile* archive_;
  const ArchiveMap* map_;
  ByteSink* sink_;
  RecordStore store_;
  OldCopies copies_;
  std::vector<std::vector<std::byte>> waiting_;
  std::size_t waiting_memory_ = 0;
  std::size_t most_waiting_memory_;
};

}  // namespace

PartOutcome restore_part(InputFile& archive, ByteSink& sink, const StreamPart& part,
                         const std::stop_token& stop, const std::function<void(std::uint64_t)>& progress) {
  PartOutcome outcome;
  const auto fail = [&](const Error& error) {
    outcome.status = std::unexpected(error);
    return outcome;
  };
  const auto size = archive.remaining();
  if (!size)
    return fail(usage_error("{}: a part is found by the index at the archive's end; give a file, not a pipe",
                            archive.name())
                    .error());
  const auto map = archive_map(archive, *size);
  if (!map) return fail(map.error());
  outcome.whole_bytes = map->end.stream_size;
  if (part.from > outcome.whole_bytes)
    return fail(usage_error("{}: restores only {} bytes, so it has no byte {}", archive.name(),
                            outcome.whole_bytes, part.from)
                    .error());
  const std::uint64_t end =
      part.from + std::min(part.bytes.value_or(outcome.whole_bytes), outcome.whole_bytes - part.from);
  if (part.limit && end - part.from > *part.limit)
    return fail(beyond_limit(archive.name(), end - part.from, *part.limit).error());
  Parts parts(archive, *map, part.kept_bytes, sink, stop);
  // The last record that begins at or before the part does.
  const auto behind = std::ranges::upper_bound(map->entries, part.from, {}, &IndexEntry::stream_offset);
  auto number = static_cast<std::size_t>(behind - map->entries.begin());
  number -= number > 0 ? 1 : 0;
  for (std::uint64_t at = part.from; at < end; ++number) {
    if (stop.stop_requested()) return fail({ErrorKind::interrupted, "interrupted"});
    const std::uint64_t first = at - map->entries[number].stream_offset;
    const std::uint64_t last =
        std::min(end, map->entries[number + 1].stream_offset) - map->entries[number].stream_offset;
    if (Status added = parts.add(number, first, last); !added) return fail(added.error());
    ++outcome.records;
    at += last - first;
    outcome.stream_bytes += last - first;
    if (progress) progress(outcome.stream_bytes);
  }
  if (Status finished = parts.finish(); !finished) return fail(finished.error());
  return outcome;
}

}  // namespace millrace::dedup
