#include "dedup/run/restore_part.h"

#include "dedup/archive/archive_info.h"
#include "dedup/archive/archive_reader.h"
#include "dedup/archive/record_store.h"
#include "dedup/run/unpack.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace millrace::dedup {
namespace {

// A record's content, or that of the one it refers to, from `begin` on.
struct Content {
  RecordStore::Content bytes;
  std::size_t begin = 0;
};

Result<Content> content_of(InputFile& archive, RecordStore& store, const ArchiveMap& map,
                           std::size_t number) {
  const IndexEntry& entry = map.entries[number];
  const std::uint64_t length = map.entries[number + 1].stream_offset - entry.stream_offset;
  const auto refused = [&](const std::string& what) {
    return damaged(archive.name(), entry.archive_offset, number, what);
  };
  std::array<std::byte, largest_record_header> bytes{};
  if (Status read = archive.read_at(entry.archive_offset, std::span(bytes).first(1)); !read)
    return std::unexpected(read.error());
  const auto size = record_header_size(bytes.front());
  if (!size) return refused(size.error().message);
  if (*size != DataHeader::size && *size != ReferenceHeader::size) return refused("it holds no data");
  const std::span<std::byte> whole = std::span(bytes).first(*size);
  if (Status read = archive.read_at(entry.archive_offset, whole); !read) return std::unexpected(read.error());
  const auto header = decode_record_header(whole, entry.archive_offset, map.header.largest_content);
  if (!header) return refused(header.error().message);
  std::uint64_t offset = entry.archive_offset;
  std::size_t begin = 0;
  if (const auto* reference = std::get_if<ReferenceHeader>(&*header)) {
    offset = reference->archive_offset;
    begin = reference->begin;
    if (reference->length != length) return refused("the index does not match it");
    if (offset >= entry.archive_offset) return refused("it refers to a record that is not before it");
  } else if (const auto* data = std::get_if<DataHeader>(&*header);
             data == nullptr || data->content_size != length) {
    return refused("the index does not match it");
  }
  auto content = store.content_at(offset, number);
  if (!content) return std::unexpected(content.error());
  if ((*content)->size() < begin + length)
    return refused("it refers to more bytes than the other record has");
  return Content{std::move(*content), begin};
}

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
    return fail(usage_error("{}: restores {} bytes; there are none from byte {} on", archive.name(),
                            outcome.whole_bytes, part.from)
                    .error());
  const std::uint64_t end =
      part.from + std::min(part.bytes.value_or(outcome.whole_bytes), outcome.whole_bytes - part.from);
  if (part.limit && end - part.from > *part.limit)
    return fail(beyond_limit(archive.name(), end - part.from, *part.limit).error());
  RecordStore store(archive, archive.name(), map->header.largest_content);
  // The last record that begins at or before the part does.
  const auto behind = std::ranges::upper_bound(map->entries, part.from, {}, &IndexEntry::stream_offset);
  auto number = static_cast<std::size_t>(behind - map->entries.begin());
  number -= number > 0 ? 1 : 0;
  for (std::uint64_t at = part.from; at < end; ++number) {
    if (stop.stop_requested()) return fail({ErrorKind::interrupted, "interrupted"});
    const auto content = content_of(archive, store, *map, number);
    if (!content) return fail(content.error());
    const std::uint64_t first = at - map->entries[number].stream_offset;
    const std::uint64_t last =
        std::min(end, map->entries[number + 1].stream_offset) - map->entries[number].stream_offset;
    if (Status written = sink.write(std::span(*content->bytes).subspan(content->begin + first, last - first));
        !written)
      return fail(written.error());
    ++outcome.records;
    at += last - first;
    outcome.stream_bytes += last - first;
    if (progress) progress(outcome.stream_bytes);
  }
  return outcome;
}

}  // namespace millrace::dedup
