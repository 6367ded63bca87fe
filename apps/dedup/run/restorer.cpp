#include "dedup/run/restorer.h"

#include "dedup/archive/codec.h"
#include "dedup/archive/recipe.h"

#include <algorithm>
#include <span>
#include <utility>

namespace millrace::dedup {

Restorer::Restorer(std::string name, std::uint32_t largest_content, RandomBytes* restored,
                   RandomBytes* archive, ByteSink& sink, std::size_t kept_bytes)
    : name_(std::move(name)), buffers_(largest_content, RecordStore::least_kept_bytes),
      most_recent_(kept_bytes / largest_content), restored_(restored),
      store_(archive && !restored
                 ? std::make_unique<RecordStore>(*archive, name_, largest_content, kept_bytes)
                 : nullptr),
      sink_(&sink) {}

Result<Restored> Restorer::restore(const StoredRecord& record) {
  const auto refused = [&](const std::string& what) {
    return damaged(name_, record.archive_offset, record.number, what);
  };
  if (const auto* segment = std::get_if<SegmentHeader>(&record.header)) {
    Restored::Segment part{.header = *segment,
                           .literals = {},
                           .recipe = std::vector<std::byte>(segment->recipe_size),
                           .number = record.number,
                           .archive_offset = record.archive_offset};
    auto memory = buffers_.get();
    const std::span<std::byte> literals(memory.get(), segment->literal_size);
    if (Status done = restore_segment(*segment, record.payload, part.recipe, literals); !done)
      return refused(done.error().message);
    part.literals = {std::move(memory), literals};
    return Restored{std::move(part)};
  }
  if (const auto* data = std::get_if<DataHeader>(&record.header)) {
    auto memory = buffers_.get();
    const std::span<std::byte> content(memory.get(), data->content_size);
    if (Status done = decompress(data->method, record.payload, content); !done)
      return refused(done.error().message);
    return Restored{Restored::Data{{std::move(memory), content}}};
  }
  const auto& reference = std::get<ReferenceHeader>(record.header);
  if (restored_) return Restored{Restored::Reference{reference, nullptr}};
  auto content = store_->content_at(reference.archive_offset, reference.stream_offset, record.number);
  if (!content) return std::unexpected(content.error());
  if ((*content)->new_bytes(reference.begin, reference.length).size() < reference.length)
    return refused("it refers to more bytes than the other record has");
  return Restored{Restored::Reference{reference, std::move(*content)}};
}

Status Restorer::write(const Restored& part) {
  if (const auto* segment = std::get_if<Restored::Segment>(&part.part)) return write(*segment);
  if (const auto* reference = std::get_if<Restored::Reference>(&part.part)) return write(*reference);
  ++data_records_;
  return put(std::get<Restored::Data>(part.part).content.bytes);
}

Status Restorer::write(const Restored::Reference& reference) {
  const ReferenceHeader& header = reference.header;
  ++references_;
  referenced_bytes_ += header.length;
  if (reference.content) return put(reference.content->new_bytes(header.begin, header.length));
  copy_.resize(header.length);
  if (Status read = restored_->read_at(header.stream_offset + header.begin, copy_); !read) return read;
  return put(copy_);
}

Status Restorer::write(const Restored::Segment& segment) {
  const SegmentHeader& header = segment.header;
  if (store_) segments_.push_back({stream_size_, segment.archive_offset});
  Fragment content = segment.literals;
  if (header.literal_size < header.content_size) {
    auto memory = buffers_.get();
    const std::span<std::byte> room(memory.get(), header.content_size);
    if (Status made = assemble(segment, room); !made) return made;
    content = {std::move(memory), room};
  } else if (Status made = assemble(segment, {}); !made) {
    return made;
  }
  ++data_records_;
  references_ += header.copies;
  referenced_bytes_ += header.content_size - header.literal_size;
  Status written = put(content.bytes);
  if (written) keep(std::move(content));
  return written;
}

Status Restorer::assemble(const Restored::Segment& segment, std::span<std::byte> content) {
  RecipeReader reader(segment.recipe, {.stream_offset = stream_size_,
                                       .content_size = segment.header.content_size,
                                       .literal_size = segment.header.literal_size});
  const auto refused = [&](const std::string& what) {
    return damaged(name_, segment.archive_offset, segment.number, what);
  };
  std::span<const std::byte> literals = segment.literals.bytes;
  std::size_t at = 0;
  while (!reader.at_end()) {
    const auto piece = reader.next();
    if (!piece) return refused(piece.error().message);
    if (content.empty()) continue;
    std::ranges::copy(literals.first(piece->literals), content.subspan(at).begin());
    literals = literals.subspan(piece->literals);
    at += piece->literals;
    if (piece->copy == 0) continue;
    // Bytes before the segment, and bytes inside it.
    const std::size_t before = piece->source >= stream_size_
                                   ? 0
                                   : std::min<std::uint64_t>(piece->copy, stream_size_ - piece->source);
    if (Status copied = copy_before(segment, piece->source, content.subspan(at, before)); !copied)
      return copied;
    if (before < piece->copy)
      std::ranges::copy(content.subspan(piece->source + before - stream_size_, piece->copy - before),
                        content.subspan(at + before).begin());
    at += piece->copy;
  }
  const Status sums = reader.check_sums();
  return sums ? Status() : refused(sums.error().message);
}

Status Restorer::copy_before(const Restored::Segment& segment, std::uint64_t source,
                             std::span<std::byte> to) {
  while (!to.empty()) {
    std::span<const std::byte> found;
    RecordStore::Content content;
    if (!recent_.empty() && source >= recent_.front().stream_offset) {
      const Recent& recent = *(std::ranges::upper_bound(recent_, source, {}, &Recent::stream_offset) - 1);
      found = recent.content.bytes.subspan(source - recent.stream_offset);
    } else if (restored_) {
      return restored_->read_at(source, to);
    } else {
      const auto behind = std::ranges::upper_bound(segments_, source, {}, &Segment::stream_offset);
      const Segment& origin = *(behind - 1);
      auto loaded = store_->content_at(origin.archive_offset, origin.stream_offset, segment.number);
      if (!loaded) return std::unexpected(loaded.error());
      content = std::move(*loaded);
      found = content->new_bytes(source - origin.stream_offset, to.size());
      if (found.empty())
        return damaged(name_, segment.archive_offset, segment.number,
                       "it copies bytes that are not new where they are");
    }
    found = found.first(std::min(found.size(), to.size()));
    std::ranges::copy(found, to.begin());
    to = to.subspan(found.size());
    source += found.size();
  }
  return {};
}

void Restorer::keep(Fragment content) {
  if (most_recent_ == 0) return;
  if (recent_.size() == most_recent_) recent_.pop_front();
  recent_.push_back({stream_size_ - content.bytes.size(), std::move(content)});
}

Status Restorer::put(std::span<const std::byte> bytes) {
  hash_.add(bytes);
  stream_size_ += bytes.size();
  return sink_->write(bytes);
}

Status Restorer::check(const EndHeader& end) const {
  if (hash_.value() == end.stream_check) return {};
  return failure(
      "{}: the restored data does not match the archive's checksum; use another copy of the archive", name_);
}

}  // namespace millrace::dedup
