#include "dedup/archive/archive_info.h"

#include "dedup/archive/archive_reader.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace millrace::dedup {
namespace {

// The index of an archive file, with an additional entry for the end.
Result<std::vector<IndexEntry>> read_index(InputFile& archive, const EndHeader& end, std::uint64_t end_offset,
                                           const ArchiveHeader& archive_header) {
  const auto [version, largest_content] = std::pair(archive_header.version, archive_header.largest_content);
  const auto refused = [&](const std::string& what) {
    return damaged(archive.name(), end.index_offset, end.data_records + end.references, what);
  };
  std::array<std::byte, IndexHeader::size> bytes{};
  if (end.index_offset < ArchiveHeader::size || end.index_offset > end_offset - bytes.size())
    return refused("no index can be there");
  if (Status read = archive.read_at(end.index_offset, bytes); !read) return std::unexpected(read.error());
  const auto size = record_header_size(bytes.front());
  const auto header = size && *size == bytes.size()
                          ? decode_record_header(bytes, end.index_offset, largest_content)
                          : Result<RecordHeader>(failure("no index is there"));
  if (!header) return refused(header.error().message);
  const auto* index = std::get_if<IndexHeader>(&*header);
  const std::uint64_t room = end_offset - end.index_offset - bytes.size();
  const std::uint64_t records = version > 1 ? end.data_records : end.data_records + end.references;
  if (!index || index->entries != records || room % IndexEntry::size != 0 ||
      index->entries != room / IndexEntry::size)
    return refused("the end does not match the index");
  std::vector<std::byte> packed(static_cast<std::size_t>(room));
  if (Status read = archive.read_at(end.index_offset + bytes.size(), packed); !read)
    return std::unexpected(read.error());
  if (check_of(packed) != index->entries_check) return refused("the index does not match its check");
  std::vector<IndexEntry> entries;
  entries.reserve(static_cast<std::size_t>(index->entries) + 1);
  for (std::size_t at = 0; at < packed.size(); at += IndexEntry::size)
    entries.push_back(decode_index_entry(std::span(packed).subspan(at).first<IndexEntry::size>()));
  entries.push_back({end.stream_size, end.index_offset});
  const auto rises = [](const IndexEntry& a, const IndexEntry& b) {
    return a.stream_offset < b.stream_offset && a.archive_offset < b.archive_offset;
  };
  if (entries.front() != IndexEntry{0, ArchiveHeader::size} && entries.size() > 1)
    return refused("the index does not begin with the first record");
  if (std::ranges::adjacent_find(entries, std::not_fn(rises)) != entries.end())
    return refused("the index is not in order");
  return entries;
}

Result<ArchiveInfo> from_index(InputFile& archive, std::uint64_t size) {
  const auto map = archive_map(archive, size);
  if (!map) return std::unexpected(map.error());
  const std::vector<IndexEntry>& entries = map->entries;
  ArchiveInfo info{.header = map->header, .archive_bytes = size, .stream_bytes = map->end.stream_size};
  if (map->header.version > 1) {
    info.data_records = map->end.data_records;
    info.references = map->end.references;
    const std::uint64_t records = entries.back().archive_offset - ArchiveHeader::size;
    if (map->end.literal_bytes > info.stream_bytes || info.data_records > records / SegmentHeader::size)
      return damaged(archive.name(), size - EndHeader::size, entries.size() - 1,
                     "the end does not match the records");
    info.payload_bytes = records - SegmentHeader::size * info.data_records;
    info.referenced_bytes = info.stream_bytes - map->end.literal_bytes;
    return info;
  }
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
    const IndexEntry& entry = entries[i];
    const std::uint64_t bytes = entries[i + 1].archive_offset - entry.archive_offset;
    bool is_data = true;
    if (bytes == ReferenceHeader::size) {  // or a data record of 8 bytes
      std::array<std::byte, 1> type{};
      if (Status read = archive.read_at(entry.archive_offset, type); !read)
        return std::unexpected(read.error());
      is_data = record_header_size(type.front()).value_or(0) == DataHeader::size;
    }
    if (is_data) {
      ++info.data_records;
      info.payload_bytes += bytes - std::min<std::uint64_t>(bytes, DataHeader::size);
    } else {
      ++info.references;
      info.referenced_bytes += entries[i + 1].stream_offset - entry.stream_offset;
    }
  }
  if (info.data_records != map->end.data_records)
    return damaged(archive.name(), size - EndHeader::size, entries.size() - 1,
                   "the end does not match the records");
  return info;
}

Result<ArchiveInfo> from_records(ByteSource& archive) {
  ArchiveReader reader(archive);
  const auto header = reader.begin();
  if (!header) return std::unexpected(header.error());
  ArchiveInfo info{.header = *header};
  for (;;) {
    const auto record = reader.next();
    if (!record) return std::unexpected(record.error());
    if (!*record) break;
    if (const auto* segment = std::get_if<SegmentHeader>(&(*record)->header)) {
      ++info.data_records;
      info.payload_bytes += segment->payload_size();
      info.references += segment->copies;
      info.referenced_bytes += segment->content_size - segment->literal_size;
    } else if (std::holds_alternative<DataHeader>((*record)->header)) {
      ++info.data_records;
      info.payload_bytes += (*record)->payload.size();
    } else {
      ++info.references;
      info.referenced_bytes += (*record)->content_size();
    }
  }
  info.archive_bytes = reader.archive_size();
  info.stream_bytes = reader.end().stream_size;
  return info;
}

}  // namespace

Result<ArchiveMap> archive_map(InputFile& archive, std::uint64_t size) {
  std::array<std::byte, ArchiveHeader::size> first{};
  if (size < first.size())
    return failure("{}: has {} bytes, which is too short for an archive", archive.name(), size);
  if (Status read = archive.read_at(0, first); !read) return std::unexpected(read.error());
  const auto header = decode_archive_header(first);
  if (!header) return failure("{}: {}", archive.name(), header.error().message);
  const auto end = read_end(archive, size, archive.name(), header->largest_content);
  if (!end) return std::unexpected(end.error());
  auto entries = read_index(archive, *end, size - EndHeader::size, *header);
  if (!entries) return std::unexpected(entries.error());
  return ArchiveMap{*header, *end, std::move(*entries)};
}

Result<ArchiveInfo> archive_info(InputFile& archive) {
  const auto size = archive.remaining();
  return size ? from_index(archive, *size) : from_records(archive);
}

Result<EndHeader> read_end(RandomBytes& archive, std::uint64_t size, const std::string& name,
                           std::uint32_t largest_content) {
  const auto cut_off = [&] {
    return failure(
        "{}: cut off at byte {}, or followed by something else: it does not end as an archive; take "
        "another copy of it",
        name, size);
  };
  std::array<std::byte, EndHeader::size> bytes{};
  if (size < ArchiveHeader::size + IndexHeader::size + bytes.size()) return cut_off();
  if (Status read = archive.read_at(size - bytes.size(), bytes); !read) return std::unexpected(read.error());
  if (record_header_size(bytes.front()).value_or(0) != bytes.size()) return cut_off();
  const auto header = decode_record_header(bytes, size - bytes.size(), largest_content);
  const auto* end = header ? std::get_if<EndHeader>(&*header) : nullptr;
  if (end == nullptr) return cut_off();
  return *end;
}

}  // namespace millrace::dedup
