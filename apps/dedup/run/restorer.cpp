#include "dedup/run/restorer.h"

#include "dedup/archive/codec.h"
#include "dedup/archive/recipe.h"

#include <algorithm>
#include <span>
#include <utility>

namespace millrace::dedup {

namespace {

// Fewer bytes would restore the same record too often.
constexpr std::size_t least_waiting_memory = std::size_t{1} << 20;
// Of an entry in a queue and its allocation.
constexpr std::size_t memory_beside_content = 160;

}  // namespace

Restorer::Restorer(std::string name, std::uint32_t largest_content, RandomBytes* restored,
                   RandomBytes* archive, ByteSink& sink, std::size_t kept_bytes, std::stop_token stop)
    : name_(std::move(name)), largest_content_(largest_content),
      buffers_(largest_content, RecordStore::least_kept_bytes), most_recent_(kept_bytes / largest_content),
      most_waiting_memory_(std::max(kept_bytes / 2, least_waiting_memory)), old_copies_(stop),
      restored_(restored),
      store_(archive && !restored ? std::make_unique<RecordStore>(*archive, name_, largest_content,
                                                                  kept_bytes - kept_bytes / 2)
                                  : nullptr),
      sink_(&sink), stop_(std::move(stop)) {}

Result<Restored> Restorer::restore(const StoredRecord& record) {
  const OldCopies::Record position{record.number, record.archive_offset};
  if (const auto* segment = std::get_if<SegmentHeader>(&record.header)) {
    Restored::Segment part{
        .header = *segment, .literals = {}, .recipe = std::vector<std::byte>(segment->recipe_size)};
    auto memory = buffers_.get();
    const std::span<std::byte> literals(memory.get(), segment->literal_size);
    if (Status done = restore_segment(*segment, record.payload, part.recipe, literals); !done)
      return refused(position, done.error().message);
    part.literals = {std::move(memory), literals};
    return Restored{std::move(part), position};
  }
  if (const auto* data = std::get_if<DataHeader>(&record.header)) {
    auto memory = buffers_.get();
    const std::span<std::byte> content(memory.get(), data->content_size);
    if (Status done = decompress(data->method, record.payload, content); !done)
      return refused(position, done.error().message);
    return Restored{Restored::Data{{std::move(memory), content}}, position};
  }
  return Restored{Restored::Reference{std::get<ReferenceHeader>(record.header)}, position};
}

Status Restorer::write(const Restored& part) {
  Status written = std::visit([&](const auto& record) { return write(record, part.record); }, part.part);
  if (!written) old_copies_.forget_from(stream_size_);  // their memory is gone
  return written;
}

Status Restorer::write(const Restored::Data& data, const OldCopies::Record& record) {
  if (store_) origins_.push_back({stream_size_, record.archive_offset});
  ++data_records_;
  return append(data.content, largest_content_, {{0, static_cast<std::uint32_t>(data.content.bytes.size())}});
}

Status Restorer::write(const Restored::Reference& reference, const OldCopies::Record& record) {
  const ReferenceHeader& header = reference.header;
  Room room = room_for(header.length);
  const std::span<std::byte> content(room.memory.get(), header.length);
  if (Status copied = copy_before(record, header.stream_offset + header.begin, stream_size_, content);
      !copied)
    return copied;
  ++references_;
  referenced_bytes_ += header.length;
  return append({std::move(room.memory), content}, room.memory_bytes, {});
}

Status Restorer::write(const Restored::Segment& segment, const OldCopies::Record& record) {
  const SegmentHeader& header = segment.header;
  if (store_) origins_.push_back({stream_size_, record.archive_offset});
  Fragment content = segment.literals;
  std::size_t memory = largest_content_;
  NewBytes new_bytes;
  if (header.literal_size < header.content_size) {
    Room room = room_for(header.content_size);
    const std::span<std::byte> bytes(room.memory.get(), header.content_size);
    if (Status made = assemble(segment, record, bytes, new_bytes); !made) return made;
    content = {std::move(room.memory), bytes};
    memory = room.memory_bytes;
  } else if (Status made = assemble(segment, record, {}, new_bytes); !made) {
    return made;
  } else {
    new_bytes.push_back({0, header.content_size});
  }
  ++data_records_;
  references_ += header.copies;
  referenced_bytes_ += header.content_size - header.literal_size;
  return append(std::move(content), memory, std::move(new_bytes));
}

bool Restorer::covers(const NewBytes& ranges, std::uint64_t begin, std::uint64_t count) {
  const auto behind = std::ranges::upper_bound(ranges, begin, {}, &Range::begin);
  return behind != ranges.begin() && begin + count <= (behind - 1)->end;
}

// Many small contents may wait, which buffers for large ones would multiply.
Restorer::Room Restorer::room_for(std::size_t content_size) {
  if (content_size > largest_content_ / 2) return {buffers_.get(), largest_content_};
  return {std::make_shared_for_overwrite<std::byte[]>(content_size), content_size + memory_beside_content};
}

Status Restorer::assemble(const Restored::Segment& segment, const OldCopies::Record& record,
                          std::span<std::byte> content, NewBytes& new_bytes) {
  RecipeReader reader(segment.recipe, {.stream_offset = stream_size_,
                                       .content_size = segment.header.content_size,
                                       .literal_size = segment.header.literal_size});
  std::span<const std::byte> literals = segment.literals.bytes;
  std::size_t at = 0;
  std::uint32_t copies = 0;
  while (!reader.at_end()) {
    const auto piece = reader.next();
    if (!piece) return refused(record, piece.error().message);
    copies += piece->copy > 0 ? 1 : 0;
    if (content.empty()) continue;
    std::ranges::copy(literals.first(piece->literals), content.subspan(at).begin());
    literals = literals.subspan(piece->literals);
    if (store_ && piece->literals > 0) {
      const auto begin = static_cast<std::uint32_t>(at);
      const std::uint32_t end = begin + piece->literals;
      if (!new_bytes.empty() && new_bytes.back().end == begin)
        new_bytes.back().end = end;
      else
        new_bytes.push_back({begin, end});
    }
    at += piece->literals;
    if (piece->copy == 0) continue;
    // Bytes before the segment, and bytes inside it.
    const std::size_t before = piece->source >= stream_size_
                                   ? 0
                                   : std::min<std::uint64_t>(piece->copy, stream_size_ - piece->source);
    if (Status copied = copy_before(record, piece->source, stream_size_ + at, content.subspan(at, before));
        !copied)
      return copied;
    if (before < piece->copy) {
      const std::uint64_t inside = piece->source + before - stream_size_;
      if (store_ && !covers(new_bytes, inside, piece->copy - before))
        return refused(record, "it copies bytes that are not new where they are");
      std::ranges::copy(content.subspan(inside, piece->copy - before), content.subspan(at + before).begin());
    }
    at += piece->copy;
  }
  if (const Status sums = reader.check_sums(); !sums) return refused(record, sums.error().message);
  if (copies != segment.header.copies) return refused(record, "its recipe has another number of copies");
  return {};
}

Status Restorer::copy_before(const OldCopies::Record& record, std::uint64_t source, std::uint64_t place,
                             std::span<std::byte> to) {
  if (stop_.stop_requested()) return std::unexpected(Error{ErrorKind::interrupted, "interrupted"});
  if (!recent_.empty() && source < recent_.front().stream_offset) {
    if (restored_) return restored_->read_at(source, to);
    const std::size_t old = std::min<std::uint64_t>(to.size(), recent_.front().stream_offset - source);
    old_copies_.add(record, source, place, to.first(old));
    to = to.subspan(old);
    source += old;
    place += old;
  } else if (recent_.empty() && !to.empty()) {
    if (restored_) return restored_->read_at(source, to);
    old_copies_.add(record, source, place, to);
    to = {};
  }
  // The rest is in memory. New bytes do not wait.
  while (!to.empty()) {
    const Recent& recent = *(std::ranges::upper_bound(recent_, source, {}, &Recent::stream_offset) - 1);
    auto found = recent.content.bytes.subspan(source - recent.stream_offset);
    found = found.first(std::min(found.size(), to.size()));
    if (store_ && !covers(recent.new_bytes, source - recent.stream_offset, found.size()))
      return refused(record, "it copies bytes that are not new where they are");
    std::ranges::copy(found, to.begin());
    to = to.subspan(found.size());
    source += found.size();
  }
  // A single record may have more copies than memory for them.
  if (old_copies_.memory() < most_waiting_memory_) return {};
  return old_copies_.fill(*store_, origins_, name_);
}

Status Restorer::append(Fragment content, std::size_t memory, NewBytes new_bytes) {
  const std::size_t size = content.bytes.size();
  if (!old_copies_.empty() && memory == largest_content_ && size <= largest_content_ / 2) {
    Room room = room_for(size);
    std::ranges::copy(content.bytes, room.memory.get());
    const std::span<const std::byte> bytes(room.memory.get(), size);
    content = {std::move(room.memory), bytes};
    memory = room.memory_bytes;
  }
  memory += new_bytes.size() * sizeof(Range);
  recent_.push_back({stream_size_, std::move(content), std::move(new_bytes)});
  stream_size_ += size;
  ++waiting_;
  waiting_memory_ += memory;
  if (old_copies_.empty() || waiting_memory_ + old_copies_.memory() >= most_waiting_memory_) return finish();
  forget_old();
  return {};
}

Status Restorer::finish() {
  const std::size_t waiting = std::exchange(waiting_, 0);
  waiting_memory_ = 0;
  if (!old_copies_.empty())
    if (Status filled = old_copies_.fill(*store_, origins_, name_); !filled) return filled;
  for (auto part = recent_.end() - static_cast<std::ptrdiff_t>(waiting); part != recent_.end(); ++part)
    if (Status written = put(part->content.bytes); !written) return written;
  forget_old();
  return {};
}

void Restorer::forget_old() {
  while (recent_.size() > most_recent_ + waiting_)
    recent_.pop_front();
}

Status Restorer::put(std::span<const std::byte> bytes) {
  hash_.add(bytes);
  written_ += bytes.size();
  return sink_->write(bytes);
}

std::unexpected<Error> Restorer::refused(const OldCopies::Record& record, const std::string& what) const {
  return damaged(name_, record.archive_offset, record.number, what);
}

Status Restorer::check(const EndHeader& end) const {
  if (hash_.value() == end.stream_check) return {};
  return failure(
      "{}: the restored data does not match the archive's checksum; use another copy of the archive", name_);
}

}  // namespace millrace::dedup
