#include "dedup/archive/record_store.h"

#include "dedup/archive/archive_format.h"
#include "dedup/archive/codec.h"
#include "dedup/archive/recipe.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::dedup {

namespace {

// Positions of a segment's literals in its content. Failure if the recipe is invalid or has another number of
// copies.
Result<std::vector<RecordContent::Literals>> runs_of(const RecordContent& content, std::uint32_t copies) {
  std::vector<RecordContent::Literals> runs;
  RecipeReader reader(content.recipe, {.stream_offset = content.stream_offset,
                                       .content_size = content.content_size,
                                       .literal_size = static_cast<std::uint32_t>(content.literals.size())});
  std::uint32_t at_content = 0;
  std::uint32_t at_literals = 0;
  std::uint32_t found = 0;
  while (!reader.at_end()) {
    const auto piece = reader.next();
    if (!piece) return std::unexpected(piece.error());
    if (piece->literals > 0 && !runs.empty() && runs.back().at_content + runs.back().count == at_content)
      runs.back().count += piece->literals;
    else if (piece->literals > 0)
      runs.push_back({at_content, at_literals, piece->literals});
    found += piece->copy > 0 ? 1 : 0;
    at_literals += piece->literals;
    at_content += piece->literals + piece->copy;
  }
  if (Status sums = reader.check_sums(); !sums) return std::unexpected(sums.error());
  if (found != copies) return failure("its recipe has another number of copies");
  return runs;
}

}  // namespace

std::span<const std::byte> RecordContent::new_bytes(std::uint64_t begin, std::size_t count) const {
  if (begin >= content_size) return {};
  count = std::min<std::uint64_t>(count, content_size - begin);
  auto run = std::ranges::upper_bound(runs, begin, {}, &Literals::at_content);
  if (run == runs.begin()) return {};
  --run;
  const std::uint64_t in_run = begin - run->at_content;
  if (in_run >= run->count || count > run->count - in_run) return {};
  return std::span(literals).subspan(run->at_literals + static_cast<std::size_t>(in_run), count);
}

RecordStore::RecordStore(RandomBytes& archive, std::string name, std::uint32_t largest_content,
                         std::size_t most_kept_bytes)
    : archive_(&archive), name_(std::move(name)), largest_content_(largest_content),
      most_kept_bytes_(most_kept_bytes) {}

// Several threads may load the same content at the same time. That wastes work but is rare.
Result<RecordStore::Content> RecordStore::content_at(std::uint64_t archive_offset,
                                                     std::uint64_t stream_offset, std::uint64_t number) {
  if (Content kept = find(archive_offset)) return kept;
  Result<Content> loaded = load(archive_offset, stream_offset, number);
  if (!loaded) return loaded;
  const std::lock_guard lock(mutex_);
  // Limited because the search is linear.
  constexpr std::size_t most_kept = 64;
  kept_.push_front({archive_offset, *loaded});
  kept_bytes_ += (*loaded)->memory();
  while (kept_.size() > 1 && (kept_.size() > most_kept || kept_bytes_ > most_kept_bytes_)) {
    kept_bytes_ -= kept_.back().content->memory();
    kept_.pop_back();
  }
  return loaded;
}

RecordStore::Content RecordStore::find(std::uint64_t archive_offset) {
  const std::lock_guard lock(mutex_);
  const auto kept = std::ranges::find(kept_, archive_offset, &Kept::archive_offset);
  if (kept == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), kept, kept + 1);
  return kept_.front().content;
}

Result<RecordStore::Content> RecordStore::load(std::uint64_t archive_offset, std::uint64_t stream_offset,
                                               std::uint64_t number) {
  const auto refused = [&](const std::string& what) {
    return failure("{}: damaged at byte {} (needed by record {}): {}; take another copy of the archive",
                   name_, archive_offset, number, what);
  };
  std::array<std::byte, largest_record_header> room{};
  if (Status read = archive_->read_at(archive_offset, std::span(room).first(1)); !read)
    return std::unexpected(read.error());
  const auto size = record_header_size(room.front());
  if (!size || (*size != DataHeader::size && *size != SegmentHeader::size))
    return refused("it holds no data");
  const auto bytes = std::span(room).first(*size);
  if (Status read = archive_->read_at(archive_offset, bytes); !read) return std::unexpected(read.error());
  const auto header = decode_record_header(bytes, archive_offset, largest_content_);
  if (!header) return refused(header.error().message);
  const auto payload_of = [&](std::size_t payload_size,
                              std::uint64_t check) -> Result<std::vector<std::byte>> {
    std::vector<std::byte> payload(payload_size);
    if (Status read = archive_->read_at(archive_offset + *size, payload); !read)
      return std::unexpected(read.error());
    if (check_of(payload) != check) return refused("its payload does not match its check");
    return payload;
  };
  auto content = std::make_shared<RecordContent>();
  content->stream_offset = stream_offset;
  if (const auto* data = std::get_if<DataHeader>(&*header)) {
    const auto payload = payload_of(data->payload_size, data->payload_check);
    if (!payload) return std::unexpected(payload.error());
    content->content_size = data->content_size;
    content->literals.resize(data->content_size);
    if (Status restored = decompress(data->method, *payload, content->literals); !restored)
      return refused(restored.error().message);
    content->runs = {{0, 0, data->content_size}};
    return content;
  }
  const auto& segment = std::get<SegmentHeader>(*header);
  const auto payload = payload_of(segment.payload_size(), segment.payload_check);
  if (!payload) return std::unexpected(payload.error());
  content->content_size = segment.content_size;
  content->literals.resize(segment.literal_size);
  content->recipe.resize(segment.recipe_size);
  if (Status restored = restore_segment(segment, *payload, content->recipe, content->literals); !restored)
    return refused(restored.error().message);
  auto runs = runs_of(*content, segment.copies);
  if (!runs) return refused(runs.error().message);
  content->runs = std::move(*runs);
  return content;
}

}  // namespace millrace::dedup
