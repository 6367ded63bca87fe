#include "dedup/archive/archive_writer.h"

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

Status ArchiveWriter::add(const ArchiveRecord& record) {
  return std::visit([this](const auto& run) { return add(run); }, record);
}

Status ArchiveWriter::add(const PackedRun& run) {
  index_.push_back({stream_size_, archive_size_});
  const DataHeader header{.method = run.payload.method,
                          .content_size = run.content_size,
                          .payload_size = static_cast<std::uint32_t>(run.payload.bytes.size()),
                          .payload_check = run.payload_check};
  if (Status written = write(encode(header, archive_size_)); !written) return written;
  stream_size_ += run.content_size;
  ++data_records_;
  return write(run.payload.bytes);
}

Status ArchiveWriter::add(const KnownRun& run) {
  const IndexEntry data = index_[run.record];
  index_.push_back({stream_size_, archive_size_});
  stream_size_ += run.length;
  return write(encode(ReferenceHeader{.length = run.length,
                                      .begin = run.begin,
                                      .archive_offset = data.archive_offset,
                                      .stream_offset = data.stream_offset},
                      archive_size_));
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
