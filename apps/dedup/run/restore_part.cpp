#include "dedup/run/restore_part.h"

#include "dedup/archive/archive_info.h"
#include "dedup/archive/archive_reader.h"
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

// Restores parts of records.
class Parts {
 public:
  Parts(InputFile& archive, const ArchiveMap& map, std::size_t kept_bytes)
      : archive_(&archive), map_(&map),
        store_(archive, archive.name(), map.header.largest_content, kept_bytes) {}

  // The bytes from `first` to `last` of record `number`, which must contain them. Valid until the next call.
  [[nodiscard]] Result<std::span<const std::byte>> bytes_of(std::size_t number, std::uint64_t first,
                                                            std::uint64_t last) {
    const IndexEntry& entry = map_->entries[number];
    const std::uint64_t length = map_->entries[number + 1].stream_offset - entry.stream_offset;
    std::array<std::byte, largest_record_header> room{};
    if (Status read = archive_->read_at(entry.archive_offset, std::span(room).first(1)); !read)
      return std::unexpected(read.error());
    const auto size = record_header_size(room.front());
    if (!size) return refused(number, size.error().message);
    const std::span<std::byte> bytes = std::span(room).first(*size);
    if (Status read = archive_->read_at(entry.archive_offset, bytes); !read)
      return std::unexpected(read.error());
    const auto header = decode_record_header(bytes, entry.archive_offset, map_->header.largest_content);
    if (!header) return refused(number, header.error().message);
    if (!belongs_to(*header, map_->header.version) || std::holds_alternative<IndexHeader>(*header) ||
        std::holds_alternative<EndHeader>(*header))
      return refused(number, "it holds no data");
    if (const auto* reference = std::get_if<ReferenceHeader>(&*header)) {
      if (reference->length != length) return refused(number, "the index does not match it");
      if (reference->archive_offset >= entry.archive_offset)
        return refused(number, "it refers to a record that is not before it");
      content_ = nullptr;
      auto content = store_.content_at(reference->archive_offset, reference->stream_offset, number);
      if (!content) return std::unexpected(content.error());
      content_ = std::move(*content);
      const auto found = content_->new_bytes(reference->begin + first, last - first);
      if (found.size() < last - first)
        return refused(number, "it refers to more bytes than the other record has");
      return found;
    }
    auto content = store_.content_at(entry.archive_offset, entry.stream_offset, number);
    if (!content) return std::unexpected(content.error());
    content_ = std::move(*content);
    if (content_->content_size != length) return refused(number, "the index does not match it");
    if (content_->recipe.empty()) return content_->new_bytes(first, last - first);
    if (Status made = assemble(number, first, last); !made) return std::unexpected(made.error());
    return assembled_;
  }

 private:
  // The same for a segment, whose content is `content_`.
  [[nodiscard]] Status assemble(std::size_t number, std::uint64_t first, std::uint64_t last) {
    assembled_.clear();
    RecipeReader reader(content_->recipe,
                        {.stream_offset = content_->stream_offset,
                         .content_size = content_->content_size,
                         .literal_size = static_cast<std::uint32_t>(content_->literals.size())});
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
      const auto [left_out, count] = wanted(piece->literals);
      const auto found = std::span(content_->literals).subspan(literals + left_out, count);
      assembled_.insert(assembled_.end(), found.begin(), found.end());
      literals += piece->literals;
      at += piece->literals;
      if (const auto [skipped, copied] = wanted(piece->copy); copied > 0)
        if (Status done = copy(number, piece->source + skipped, copied); !done) return done;
      at += piece->copy;
    }
    return {};
  }

  [[nodiscard]] Status copy(std::size_t number, std::uint64_t source, std::size_t count) {
    while (count > 0) {
      const auto behind = std::ranges::upper_bound(map_->entries, source, {}, &IndexEntry::stream_offset);
      const IndexEntry& origin = *(behind - 1);
      const auto content = store_.content_at(origin.archive_offset, origin.stream_offset, number);
      if (!content) return std::unexpected(content.error());
      const auto bytes = (*content)->new_bytes(source - origin.stream_offset, count);
      if (bytes.empty()) return refused(number, "it copies bytes that are not new where they are");
      assembled_.insert(assembled_.end(), bytes.begin(), bytes.end());
      source += bytes.size();
      count -= bytes.size();
    }
    return {};
  }

  [[nodiscard]] std::unexpected<Error> refused(std::size_t number, const std::string& what) const {
    return damaged(archive_->name(), map_->entries[number].archive_offset, number, what);
  }

  InputFile* archive_;
  const ArchiveMap* map_;
  RecordStore store_;
  RecordStore::Content content_;
  std::vector<std::byte> assembled_;
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
  Parts parts(archive, *map, part.kept_bytes);
  // The last record that begins at or before the part does.
  const auto behind = std::ranges::upper_bound(map->entries, part.from, {}, &IndexEntry::stream_offset);
  auto number = static_cast<std::size_t>(behind - map->entries.begin());
  number -= number > 0 ? 1 : 0;
  for (std::uint64_t at = part.from; at < end; ++number) {
    if (stop.stop_requested()) return fail({ErrorKind::interrupted, "interrupted"});
    const std::uint64_t first = at - map->entries[number].stream_offset;
    const std::uint64_t last =
        std::min(end, map->entries[number + 1].stream_offset) - map->entries[number].stream_offset;
    const auto bytes = parts.bytes_of(number, first, last);
    if (!bytes) return fail(bytes.error());
    if (Status written = sink.write(*bytes); !written) return fail(written.error());
    ++outcome.records;
    at += last - first;
    outcome.stream_bytes += last - first;
    if (progress) progress(outcome.stream_bytes);
  }
  return outcome;
}

}  // namespace millrace::dedup
