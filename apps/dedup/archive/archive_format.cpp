#include "dedup/archive/archive_format.h"

#include "dedup/archive/recipe.h"
#include "millrace/base/little_endian.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <xxhash.h>

namespace millrace::dedup {
namespace {

// Begins with a byte that is no text and holds both line ends, so that a transfer that takes the archive for
// text is found out at once (as in PNG).
constexpr std::array<unsigned char, 8> magic{0x8a, 'M', 'R', 'D', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t check_at = 12;

enum class Type : std::uint8_t { segment = 'S', data = 'D', reference = 'R', index = 'I', end = 'E' };

// The low half of XXH3, seeded with the offset, of a header whose check is zero.
std::uint32_t header_check(std::span<const std::byte> header, std::uint64_t offset) {
  std::array<std::byte, largest_record_header> copy{};
  std::ranges::copy(header, copy.begin());
  put_little_endian(std::span(copy), check_at, std::uint32_t{0});
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(copy.data(), header.size(), offset));
}

template <std::size_t size> void seal(std::array<std::byte, size>& bytes, std::uint64_t offset) {
  put_little_endian(std::span(bytes), check_at, header_check(bytes, offset));
}

bool is_sealed(std::span<const std::byte> bytes, std::uint64_t offset) {
  return get_little_endian<std::uint32_t>(bytes, check_at) == header_check(bytes, offset);
}

template <std::size_t size> std::array<std::byte, size> record_of(Type type) {
  std::array<std::byte, size> bytes{};
  bytes[0] = static_cast<std::byte>(type);
  return bytes;
}

bool is_method(std::uint8_t value) { return value <= static_cast<std::uint8_t>(Method::zlib); }

// Whether so many bytes can be stored in so many.
bool payload_fits(Method method, std::uint32_t payload, std::uint32_t content) {
  return method == Method::stored ? payload == content : payload < content && payload > 0;
}

Result<RecordHeader> decode_segment(std::span<const std::byte> bytes, std::uint32_t largest_content) {
  for (const std::size_t at : {1U, 2U})
    if (const auto method = std::to_integer<std::uint8_t>(bytes[at]); !is_method(method))
      return failure("it is compressed by method {}, which is not known", method);
  const SegmentHeader header{.literal_method = static_cast<Method>(bytes[1]),
                             .recipe_method = static_cast<Method>(bytes[2]),
                             .content_size = get_little_endian<std::uint32_t>(bytes, 4),
                             .literal_size = get_little_endian<std::uint32_t>(bytes, 8),
                             .literal_payload = get_little_endian<std::uint32_t>(bytes, 16),
                             .recipe_size = get_little_endian<std::uint32_t>(bytes, 20),
                             .recipe_payload = get_little_endian<std::uint32_t>(bytes, 24),
                             .copies = get_little_endian<std::uint32_t>(bytes, 28),
                             .payload_check = get_little_endian<std::uint64_t>(bytes, 32)};
  if (header.content_size == 0 || header.content_size > largest_content)
    return failure("its content of {} bytes is not within 1 to {}", header.content_size, largest_content);
  if (header.literal_size > header.content_size)
    return failure("{} new bytes in {} of content cannot be", header.literal_size, header.content_size);
  if (!payload_fits(header.literal_method, header.literal_payload, header.literal_size))
    return failure("{} bytes of payload for {} of content cannot be", header.literal_payload,
                   header.literal_size);
  if (header.recipe_size == 0 || header.recipe_size > recipe_limit(header.content_size) ||
      !payload_fits(header.recipe_method, header.recipe_payload, header.recipe_size))
    return failure("a recipe of {} bytes in {} for {} of content cannot be", header.recipe_size,
                   header.recipe_payload, header.content_size);
  return header;
}

Result<RecordHeader> decode_data(std::span<const std::byte> bytes, std::uint32_t largest_content) {
  const auto method = std::to_integer<std::uint8_t>(bytes[1]);
  if (!is_method(method)) return failure("it is compressed by method {}, which is not known", method);
  const DataHeader header{.method = static_cast<Method>(method),
                          .content_size = get_little_endian<std::uint32_t>(bytes, 4),
                          .payload_size = get_little_endian<std::uint32_t>(bytes, 8),
                          .payload_check = get_little_endian<std::uint64_t>(bytes, 16)};
  if (header.content_size == 0 || header.content_size > largest_content)
    return failure("its content of {} bytes is not within 1 to {}", header.content_size, largest_content);
  if (!payload_fits(header.method, header.payload_size, header.content_size))
    return failure("{} bytes of payload for {} of content cannot be", header.payload_size,
                   header.content_size);
  return header;
}

Result<RecordHeader> decode_reference(std::span<const std::byte> bytes, std::uint64_t offset,
                                      std::uint32_t largest_content) {
  const ReferenceHeader header{.length = get_little_endian<std::uint32_t>(bytes, 4),
                               .begin = get_little_endian<std::uint32_t>(bytes, 8),
                               .archive_offset = get_little_endian<std::uint64_t>(bytes, 16),
                               .stream_offset = get_little_endian<std::uint64_t>(bytes, 24)};
  if (header.length == 0 || header.length > largest_content || header.begin > largest_content - header.length)
    return failure("{} bytes from {} on of a record of at most {} cannot be", header.length, header.begin,
                   largest_content);
  if (header.archive_offset < ArchiveHeader::size || header.archive_offset >= offset)
    return failure("it refers to byte {}, where no earlier record is", header.archive_offset);
  return header;
}

}  // namespace

std::array<std::byte, ArchiveHeader::size> encode(const ArchiveHeader& header) {
  std::array<std::byte, ArchiveHeader::size> bytes{};
  std::ranges::transform(magic, bytes.begin(), [](unsigned char c) { return static_cast<std::byte>(c); });
  put_little_endian(std::span(bytes), 8, header.version);
  put_little_endian(std::span(bytes), 16, header.largest_content);
  put_little_endian(std::span(bytes), 20, header.average_chunk);
  bytes[24] = static_cast<std::byte>(header.method);
  bytes[25] = static_cast<std::byte>(header.level);
  seal(bytes, 0);
  return bytes;
}

std::array<std::byte, SegmentHeader::size> encode(const SegmentHeader& header, std::uint64_t offset) {
  auto bytes = record_of<SegmentHeader::size>(Type::segment);
  bytes[1] = static_cast<std::byte>(header.literal_method);
  bytes[2] = static_cast<std::byte>(header.recipe_method);
  put_little_endian(std::span(bytes), 4, header.content_size);
  put_little_endian(std::span(bytes), 8, header.literal_size);
  put_little_endian(std::span(bytes), 16, header.literal_payload);
  put_little_endian(std::span(bytes), 20, header.recipe_size);
  put_little_endian(std::span(bytes), 24, header.recipe_payload);
  put_little_endian(std::span(bytes), 28, header.copies);
  put_little_endian(std::span(bytes), 32, header.payload_check);
  seal(bytes, offset);
  return bytes;
}

std::array<std::byte, DataHeader::size> encode(const DataHeader& header, std::uint64_t offset) {
  auto bytes = record_of<DataHeader::size>(Type::data);
  bytes[1] = static_cast<std::byte>(header.method);
  put_little_endian(std::span(bytes), 4, header.content_size);
  put_little_endian(std::span(bytes), 8, header.payload_size);
  put_little_endian(std::span(bytes), 16, header.payload_check);
  seal(bytes, offset);
  return bytes;
}

std::array<std::byte, ReferenceHeader::size> encode(const ReferenceHeader& header, std::uint64_t offset) {
  auto bytes = record_of<ReferenceHeader::size>(Type::reference);
  put_little_endian(std::span(bytes), 4, header.length);
  put_little_endian(std::span(bytes), 8, header.begin);
  put_little_endian(std::span(bytes), 16, header.archive_offset);
  put_little_endian(std::span(bytes), 24, header.stream_offset);
  seal(bytes, offset);
  return bytes;
}

std::array<std::byte, IndexHeader::size> encode(const IndexHeader& header, std::uint64_t offset) {
  auto bytes = record_of<IndexHeader::size>(Type::index);
  put_little_endian(std::span(bytes), 16, header.entries);
  put_little_endian(std::span(bytes), 24, header.entries_check);
  seal(bytes, offset);
  return bytes;
}

std::array<std::byte, EndHeader::size> encode(const EndHeader& header, std::uint64_t offset) {
  auto bytes = record_of<EndHeader::size>(Type::end);
  put_little_endian(std::span(bytes), 4, header.literal_bytes);
  put_little_endian(std::span(bytes), 16, header.index_offset);
  put_little_endian(std::span(bytes), 24, header.stream_size);
  put_little_endian(std::span(bytes), 32, header.data_records);
  put_little_endian(std::span(bytes), 40, header.references);
  put_little_endian(std::span(bytes), 48, header.stream_check.low);
  put_little_endian(std::span(bytes), 56, header.stream_check.high);
  seal(bytes, offset);
  return bytes;
}

std::array<std::byte, IndexEntry::size> encode(const IndexEntry& entry) {
  std::array<std::byte, IndexEntry::size> bytes{};
  put_little_endian(std::span(bytes), 0, entry.stream_offset);
  put_little_endian(std::span(bytes), 8, entry.archive_offset);
  return bytes;
}

Result<ArchiveHeader> decode_archive_header(std::span<const std::byte, ArchiveHeader::size> bytes) {
  const bool is_archive =
      std::ranges::equal(magic, bytes.first(magic.size()),
                         [](unsigned char c, std::byte b) { return static_cast<std::byte>(c) == b; });
  if (!is_archive) return failure("this is no archive of millrace-dedup");
  const auto version = get_little_endian<std::uint16_t>(bytes, 8);
  if (version < oldest_version || version > archive_version)
    return failure("the archive has version {}, this program reads versions {} to {}", version,
                   oldest_version, archive_version);
  const auto method = std::to_integer<std::uint8_t>(bytes[24]);
  const ArchiveHeader header{.version = version,
                             .largest_content = get_little_endian<std::uint32_t>(bytes, 16),
                             .average_chunk = get_little_endian<std::uint32_t>(bytes, 20),
                             .method = static_cast<Method>(method),
                             .level = std::to_integer<std::uint8_t>(bytes[25])};
  if (!is_sealed(bytes, 0) || !is_method(method) || header.largest_content == 0 ||
      header.largest_content > content_limit)
    return failure("the archive's header does not match its check");
  return header;
}

IndexEntry decode_index_entry(std::span<const std::byte, IndexEntry::size> bytes) {
  return {.stream_offset = get_little_endian<std::uint64_t>(bytes, 0),
          .archive_offset = get_little_endian<std::uint64_t>(bytes, 8)};
}

Result<std::size_t> record_header_size(std::byte first) {
  switch (static_cast<Type>(first)) {
  case Type::segment:
    return SegmentHeader::size;
  case Type::data:
    return DataHeader::size;
  case Type::reference:
    return ReferenceHeader::size;
  case Type::index:
    return IndexHeader::size;
  case Type::end:
    return EndHeader::size;
  }
  return failure("no record begins with the byte {:#04x}", std::to_integer<unsigned>(first));
}

Result<RecordHeader> decode_record_header(std::span<const std::byte> bytes, std::uint64_t offset,
                                          std::uint32_t largest_content) {
  if (!is_sealed(bytes, offset)) return failure("its header does not match its check");
  switch (static_cast<Type>(bytes[0])) {
  case Type::segment:
    return decode_segment(bytes, largest_content);
  case Type::data:
    return decode_data(bytes, largest_content);
  case Type::reference:
    return decode_reference(bytes, offset, largest_content);
  case Type::index:
    return IndexHeader{.entries = get_little_endian<std::uint64_t>(bytes, 16),
                       .entries_check = get_little_endian<std::uint64_t>(bytes, 24)};
  case Type::end:
    break;
  }
  return EndHeader{.index_offset = get_little_endian<std::uint64_t>(bytes, 16),
                   .stream_size = get_little_endian<std::uint64_t>(bytes, 24),
                   .data_records = get_little_endian<std::uint64_t>(bytes, 32),
                   .references = get_little_endian<std::uint64_t>(bytes, 40),
                   .literal_bytes = get_little_endian<std::uint64_t>(bytes, 4),
                   .stream_check = {get_little_endian<std::uint64_t>(bytes, 48),
                                    get_little_endian<std::uint64_t>(bytes, 56)}};
}

bool belongs_to(const RecordHeader& header, std::uint16_t version) {
  if (std::holds_alternative<SegmentHeader>(header)) return version > 1;
  if (std::holds_alternative<DataHeader>(header) || std::holds_alternative<ReferenceHeader>(header))
    return version == 1;
  return true;
}

std::uint64_t check_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void RunningCheck::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

RunningCheck::RunningCheck() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

void RunningCheck::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

std::uint64_t RunningCheck::value() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace millrace::dedup
