#include "dedup/run/restorer.h"

#include "dedup/archive/codec.h"

#include <span>
#include <utility>

namespace millrace::dedup {

Restorer::Restorer(std::string name, std::uint32_t largest_content, RandomBytes* restored,
                   RandomBytes* archive, ByteSink& sink)
    : name_(std::move(name)), buffers_(largest_content, RecordStore::most_kept_bytes), restored_(restored),
      store_(archive ? std::make_unique<RecordStore>(*archive, name_, largest_content) : nullptr),
      sink_(&sink) {}

Result<Restored> Restorer::restore(const StoredRecord& record) {
  if (const auto* data = std::get_if<DataHeader>(&record.header)) {
    auto memory = buffers_.get();
    const std::span<std::byte> content(memory.get(), data->content_size);
    if (Status done = decompress(data->method, record.payload, content); !done)
      return damaged(name_, record.archive_offset, record.number, done.error().message);
    return Restored{Fragment{std::move(memory), content}, {}};
  }
  const auto& reference = std::get<ReferenceHeader>(record.header);
  if (restored_) return Restored{{}, reference};
  auto content = store_->content_at(reference.archive_offset, record.number);
  if (!content) return std::unexpected(content.error());
  if ((*content)->size() < std::size_t{reference.begin} + reference.length)
    return damaged(name_, record.archive_offset, record.number,
                   "it refers to more bytes than the other record has");
  return Restored{std::move(*content), reference};
}

Status Restorer::write(const Restored& part) {
  std::span<const std::byte> bytes;
  if (!part.reference) {
    bytes = std::get<Fragment>(part.content).bytes;
  } else if (const auto* content = std::get_if<RecordStore::Content>(&part.content)) {
    bytes = std::span(**content).subspan(part.reference->begin, part.reference->length);
  } else {
    copy_.resize(part.reference->length);
    if (Status read = restored_->read_at(part.reference->stream_offset + part.reference->begin, copy_); !read)
      return read;
    bytes = copy_;
  }
  if (part.reference) {
    ++references_;
    referenced_bytes_ += bytes.size();
  } else {
    ++data_records_;
  }
  hash_.add(bytes);
  stream_size_ += bytes.size();
  return sink_->write(bytes);
}

Status Restorer::check(const EndHeader& end) const {
  if (hash_.value() == end.stream_check) return {};
  return failure(
      "{}: what was restored does not match the check of the whole; take another copy of the archive", name_);
}

}  // namespace millrace::dedup
