#include "dedup/archive/archive_writer.h"

#include "dedup/archive/recipe.h"

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

Result<PackedSegment> packed(const Segment& segment, std::span<const std::byte> literals,
                             Compressor& compressor) {
  const std::vector<std::byte> recipe = encode_recipe(segment.pieces, segment.stream_offset);
  Payload of_recipe{.bytes = recipe};
  Payload of_literals;
  // Short recipes, such as "everything is new", are not worth a call.
  constexpr std::size_t short_recipe = 64;
  if (recipe.size() > short_recipe) {
    auto payload = compressor.compress(recipe);
    if (!payload) return std::unexpected(payload.error());
    of_recipe = std::move(*payload);
  }
  if (!literals.empty()) {
    auto payload = compressor.compress(literals);
    if (!payload) return std::unexpected(payload.error());
    of_literals = std::move(*payload);
  }
  RunningCheck check;
  check.add(of_recipe.bytes);
  check.add(of_literals.bytes);
  return PackedSegment{.header = {.literal_method = of_literals.method,
                                  .recipe_method = of_recipe.method,
                                  .content_size = static_cast<std::uint32_t>(segment.fragment.bytes.size()),
                                  .literal_size = static_cast<std::uint32_t>(literals.size()),
                                  .literal_payload = static_cast<std::uint32_t>(of_literals.bytes.size()),
                                  .recipe_size = static_cast<std::uint32_t>(recipe.size()),
                                  .recipe_payload = static_cast<std::uint32_t>(of_recipe.bytes.size()),
                                  .copies = segment.copies,
                                  .payload_check = check.value()},
                       .recipe = std::move(of_recipe.bytes),
                       .literals = std::move(of_literals.bytes)};
}

Status ArchiveWriter::begin(const ArchiveHeader& header) { return write(encode(header)); }

Status ArchiveWriter::add(PackedSegment segment) {
  const PlacedRecord placed = place(std::move(segment));
  if (Status written = sink_->write(placed.head); !written) return written;
  return placed.literals.empty() ? Status() : sink_->write(placed.literals);
}

PlacedRecord ArchiveWriter::place(PackedSegment segment) {
  index_.push_back({stream_size_, archive_size_});
  const auto header = encode(segment.header, archive_size_);
  PlacedRecord placed{
      .offset = archive_size_, .head = std::move(segment.recipe), .literals = std::move(segment.literals)};
  placed.head.insert(placed.head.begin(), header.begin(), header.end());
  stream_size_ += segment.header.content_size;
  archive_size_ += placed.head.size() + placed.literals.size();
  copies_ += segment.header.copies;
  literal_bytes_ += segment.header.literal_size;
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
                                .data_records = segments(),
                                .references = copies_,
                                .literal_bytes = literal_bytes_,
                                .stream_check = stream_check},
                      archive_size_));
}

Status ArchiveWriter::write(std::span<const std::byte> bytes) {
  archive_size_ += bytes.size();
  return sink_->write(bytes);
}

}  // namespace millrace::dedup
