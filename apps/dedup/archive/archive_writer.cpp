#include "dedup/archive/archive_writer.h"

#include <utility>

namespace millrace::dedup {

std::vector<std::byte> encode(std::span<const IndexEntry> entries) {
  std::vector<std::byte> bytes;
  bytes.reserve(entries.size() * IndexEntry::size);
  for (const IndexEntry& entry : entries) {
    const auto encoded = encode(entry);
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  }
  return bytes;
}

Status ArchiveWriter::begin(const ArchiveHeader& header) { return write(encode(header)); }

Status ArchiveWriter::add(ArchiveRecord record) {
  const PlacedRecord placed = place(std::move(record));
  if (Status written = sink_->write(placed.header_bytes()); !written) return written;
  return placed.payload.empty() ? Status() : sink_->write(placed.payload);
}

PlacedRecord ArchiveWriter::place(ArchiveRecord record) {
  return std::visit([this](auto&& run) { return place(std::forward<decltype(run)>(run)); },
                    std::move(record));
}

PlacedRecord ArchiveWriter::place(PackedRun run) {
  index_.push_back({stream_size_, archive_size_});
  const auto header = encode(DataHeader{.method = run.payload.method,
                                        .content_size = run.content_size,
                                        .payload_size = static_cast<std::uint32_t>(run.payload.bytes.size()),
                                        .payload_check = run.payload_check},
                             archive_size_);
  PlacedRecord placed{
      .offset = archive_size_, .header_size = header.size(), .payload = std::move(run.payload.bytes)};
  std::ranges::copy(header, placed.header.begin());
  stream_size_ += run.content_size;
  archive_size_ += header.size() + placed.payload.size();
  ++data_records_;
  return placed;
}

PlacedRecord ArchiveWriter::place(const KnownRun& run) {
  const IndexEntry data = index_[run.record];
  index_.push_back({stream_size_, archive_size_});
  const auto header = encode(ReferenceHeader{.length = run.length,
                                             .begin = run.begin,
                                             .archive_offset = data.archive_offset,
                                             .stream_offset = data.stream_offset},
                             archive_size_);
  PlacedRecord placed{.offset = archive_size_, .header_size = header.size()};
  std::ranges::copy(header, placed.header.begin());
  stream_size_ += run.length;
  archive_size_ += header.size();
  return placed;
}

Status ArchiveWriter::finish(const StreamCheck& stream_check) {
  const std::uint64_t index_offset = archive_size_;
  const std::vector<std::byte> entries = encode(index_);
  if (Status written = write(encode(IndexHeader{index_.size(), check_of(entries)}, index_offset)); !written)
    return written;
  if (Status written = write(entries); !written) return written;
  return write(encode(EndHeader{.index_offset = index_offset,
                                .stream_size = stream_size_,
                                .data_records = data_records_,
                                .references = references(),
                                .stream_check = stream_check},
                      archive_size_));
}

Status ArchiveWriter::write(std::span<const std::byte> bytes) {
  archive_size_ += bytes.size();
  return sink_->write(bytes);
}

}  // namespace millrace::dedup
