#include "dedup/archive/archive_reader.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

namespace millrace::dedup {

std::uint32_t StoredRecord::content_size() const {
  if (const auto* segment = std::get_if<SegmentHeader>(&header)) return segment->content_size;
  const auto* data = std::get_if<DataHeader>(&header);
  return data ? data->content_size : std::get<ReferenceHeader>(header).length;
}

std::unexpected<Error> damaged(const std::string& name, std::uint64_t offset, std::uint64_t record,
                               const std::string& what) {
  return failure("{}: damaged at byte {} (record {}): {}; take another copy of the archive", name, offset,
                 record, what);
}

ArchiveReader::ArchiveReader(ByteSource& source, Copy copy, std::size_t read_ahead)
    : source_(&source), copy_(std::move(copy)), read_ahead_(read_ahead),
      ahead_(std::make_unique_for_overwrite<std::byte[]>(read_ahead)) {}

Result<ArchiveHeader> ArchiveReader::begin() {
  std::vector<std::byte> bytes;
  if (Status done = read(bytes, ArchiveHeader::size); !done) {
    if (!cut_off_) return std::unexpected(done.error());
    return failure("{}: has {} bytes, which is too short for an archive", source_->name(), offset_);
  }
  auto header = decode_archive_header(std::span<const std::byte, ArchiveHeader::size>(bytes));
  if (!header) return failure("{}: {}", source_->name(), header.error().message);
  archive_header_ = *header;
  return *header;
}

Result<std::optional<StoredRecord>> ArchiveReader::next() {
  record_offset_ = offset_;
  std::vector<std::byte> bytes;
  const Result<RecordHeader> header = read_header(bytes);
  if (!header) return std::unexpected(header.error());
  if (const auto* segment = std::get_if<SegmentHeader>(&*header)) return deliver(*segment, std::move(bytes));
  if (const auto* data = std::get_if<DataHeader>(&*header)) return deliver(*data, std::move(bytes));
  if (const auto* reference = std::get_if<ReferenceHeader>(&*header)) return deliver(*reference);
  const auto* index = std::get_if<IndexHeader>(&*header);
  if (!index) return damaged_here("the archive ends without an index");
  const std::uint64_t index_offset = record_offset_;
  if (Status checked = check_index(*index); !checked) return std::unexpected(checked.error());
  if (Status checked = check_end(index_offset); !checked) return std::unexpected(checked.error());
  return std::nullopt;
}

Result<RecordHeader> ArchiveReader::read_header(std::vector<std::byte>& bytes) {
  if (Status done = read(bytes, least_record_header); !done) return std::unexpected(done.error());
  const Result<std::size_t> size = record_header_size(bytes.front());
  if (!size) return damaged_here(size.error().message);
  if (Status done = read(bytes, *size - least_record_header); !done) return std::unexpected(done.error());
  auto header = decode_record_header(bytes, record_offset_, archive_header_.largest_content);
  if (!header) return damaged_here(header.error().message);
  if (!belongs_to(*header, archive_header_.version))
    return damaged_here(fmt::format("archives of version {} have no such record", archive_header_.version));
  return header;
}

namespace {

std::size_t payload_size_of(const SegmentHeader& header) { return header.payload_size(); }
std::size_t payload_size_of(const DataHeader& header) { return header.payload_size; }

}  // namespace

template <class Header>
Result<std::optional<StoredRecord>> ArchiveReader::deliver(const Header& header,
                                                           std::vector<std::byte> bytes) {
  if (copy_)
    if (Status copied = copy_(record_offset_, bytes); !copied) return std::unexpected(copied.error());
  std::vector<std::byte> payload;
  payload.reserve(payload_size_of(header));
  if (Status done = read(payload, payload_size_of(header)); !done) return std::unexpected(done.error());
  if (check_of(payload) != header.payload_check) return damaged_here("its payload does not match its check");
  if (copy_)
    if (Status copied = copy_(record_offset_ + Header::size, payload); !copied)
      return std::unexpected(copied.error());
  StoredRecord record{index_.size(), record_offset_, stream_size_, header, std::move(payload)};
  index_.push_back({stream_size_, record_offset_});
  is_data_.push_back(true);
  stream_size_ += header.content_size;
  ++data_records_;
  if constexpr (std::is_same_v<Header, SegmentHeader>) {
    copies_ += header.copies;
    literal_bytes_ += header.literal_size;
  }
  return record;
}

Result<std::optional<StoredRecord>> ArchiveReader::deliver(const ReferenceHeader& header) {
  // The index is sorted by both offsets.
  const auto target =
      std::ranges::lower_bound(index_, header.archive_offset, {}, &IndexEntry::archive_offset);
  if (target == index_.end() || target->archive_offset != header.archive_offset ||
      target->stream_offset != header.stream_offset ||
      !is_data_[static_cast<std::size_t>(target - index_.begin())])
    return damaged_here(fmt::format("it refers to byte {}, but no earlier data record covers that byte",
                                    header.archive_offset));
  const std::uint64_t target_end = target + 1 == index_.end() ? stream_size_ : (target + 1)->stream_offset;
  if (header.stream_offset + header.begin + header.length > target_end)
    return damaged_here("it refers to more bytes than the other record has");
  StoredRecord record{index_.size(), record_offset_, stream_size_, header, {}};
  index_.push_back({stream_size_, record_offset_});
  is_data_.push_back(false);
  ++copies_;
  stream_size_ += header.length;
  return record;
}

Status ArchiveReader::check_index(const IndexHeader& header) {
  if (header.entries != index_.size())
    return damaged_here(
        fmt::format("the index has {} entries for {} records", header.entries, index_.size()));
  constexpr std::size_t at_once = 4096;
  RunningCheck check;
  std::vector<std::byte> stored;
  std::vector<std::byte> expected;
  bool matches = true;
  for (std::size_t done = 0; done < index_.size();) {
    const std::size_t part = std::min(at_once, index_.size() - done);
    stored.clear();
    if (Status read_part = read(stored, part * IndexEntry::size); !read_part) return read_part;
    check.add(stored);
    expected.clear();
    for (const std::size_t end = done + part; done < end; ++done)
      std::ranges::copy(encode(index_[done]), std::back_inserter(expected));
    matches = matches && stored == expected;
  }
  if (!matches || check.value() != header.entries_check)
    return damaged_here("the index does not match the records");
  return {};
}

Status ArchiveReader::check_end(std::uint64_t index_offset) {
  record_offset_ = offset_;
  std::vector<std::byte> bytes;
  const Result<RecordHeader> header = read_header(bytes);
  if (!header) return std::unexpected(header.error());
  const auto* end = std::get_if<EndHeader>(&*header);
  if (!end) return damaged_here("the index is not followed by the end");
  if (end->index_offset != index_offset || end->stream_size != stream_size_ ||
      end->data_records != data_records_ || end->references != copies_ ||
      end->literal_bytes != literal_bytes_)
    return damaged_here("the end does not match the records");
  end_ = *end;
  std::byte more{};
  const Result<std::size_t> count =
      ahead_begin_ < ahead_end_ ? Result<std::size_t>(1) : source_->read(std::span(&more, 1));
  if (!count) return std::unexpected(count.error());
  record_offset_ = offset_;
  if (*count != 0) return damaged_here("something follows the end of the archive");
  return {};
}

Status ArchiveReader::read(std::vector<std::byte>& bytes, std::size_t count) {
  while (count != 0) {
    if (ahead_begin_ == ahead_end_) {
      const Result<std::size_t> got = source_->read({ahead_.get(), read_ahead_});
      if (!got) return std::unexpected(got.error());
      if (*got == 0) {
        cut_off_ = true;
        return failure(
            "{}: cut off at byte {}, in record {} (from byte {} on); take another copy of the archive",
            source_->name(), offset_, index_.size(), record_offset_);
      }
      ahead_begin_ = 0;
      ahead_end_ = *got;
    }
    const std::size_t part = std::min(count, ahead_end_ - ahead_begin_);
    const std::byte* const from = ahead_.get() + ahead_begin_;
    bytes.insert(bytes.end(), from, from + part);
    ahead_begin_ += part;
    offset_ += part;
    count -= part;
  }
  return {};
}

std::unexpected<Error> ArchiveReader::damaged_here(const std::string& what) const {
  return damaged(source_->name(), record_offset_, index_.size(), what);
}

}  // namespace millrace::dedup
