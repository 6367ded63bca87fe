#include "dedup/archive/archive_format.h"

#include "dedup/archive/recipe.h"
#include "millrace/base/numbers/file_layout.h"
#include "millrace/base/numbers/little_endian.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <tuple>
#include <xxhash.h>

namespace millrace::dedup {
namespace {

// Begins with a non-text byte and contains both line endings, so that a transfer in text mode is detected at
// once (as in PNG).
constexpr std::array<unsigned char, 8> magic{0x8a, 'M', 'R', 'D', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t check_at = 12;

enum class Type : std::uint8_t { segment = 'S', data = 'D', reference = 'R', index = 'I', end = 'E' };

// Byte 0 is the type of a record, bytes 12 to 15 its check.
constexpr std::tuple archive_layout{
    PlacedMember{8, &ArchiveHeader::version}, PlacedMember{16, &ArchiveHeader::largest_content},
    PlacedMember{20, &ArchiveHeader::average_chunk}, PlacedMember{24, &ArchiveHeader::method},
    PlacedMember{25, &ArchiveHeader::level}};
constexpr std::tuple segment_layout{
    PlacedMember{1, &SegmentHeader::literal_method},   PlacedMember{2, &SegmentHeader::recipe_method},
    PlacedMember{4, &SegmentHeader::content_size},     PlacedMember{8, &SegmentHeader::literal_size},
    PlacedMember{16, &SegmentHeader::literal_payload}, PlacedMember{20, &SegmentHeader::recipe_size},
    PlacedMember{24, &SegmentHeader::recipe_payload},  PlacedMember{28, &SegmentHeader::copies},
    PlacedMember{32, &SegmentHeader::payload_check}};
constexpr std::tuple data_layout{
    PlacedMember{1, &DataHeader::method}, PlacedMember{4, &DataHeader::content_size},
    PlacedMember{8, &DataHeader::payload_size}, PlacedMember{16, &DataHeader::payload_check}};
constexpr std::tuple reference_layout{
    PlacedMember{4, &ReferenceHeader::length}, PlacedMember{8, &ReferenceHeader::begin},
    PlacedMember{16, &ReferenceHeader::archive_offset}, PlacedMember{24, &ReferenceHeader::stream_offset}};
constexpr std::tuple index_layout{PlacedMember{16, &IndexHeader::entries},
                                  PlacedMember{24, &IndexHeader::entries_check}};
// The end record also has the halves of the stream's check, at 48 and 56.
constexpr std::tuple end_layout{
    PlacedMember{4, &EndHeader::literal_bytes}, PlacedMember{16, &EndHeader::index_offset},
    PlacedMember{24, &EndHeader::stream_size}, PlacedMember{32, &EndHeader::data_records},
    PlacedMember{40, &EndHeader::references}};
constexpr std::tuple entry_layout{PlacedMember{0, &IndexEntry::stream_offset},
                                  PlacedMember{8, &IndexEntry::archive_offset}};

// The low half of XXH3, seeded with the offset, over a header whose check is zero.
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

template <class Header, class Layout>
std::array<std::byte, Header::size> record_of(Type type, const Header& header, const Layout& layout) {
  std::array<std::byte, Header::size> bytes{};
  bytes[0] = static_cast<std::byte>(type);
  put_members(bytes, header, layout);
  return bytes;
}

template <class Header, class Layout>
std::array<std::byte, Header::size> sealed_record_of(Type type, const Header& header, const Layout& layout,
                                                     std::uint64_t offset) {
  auto bytes = record_of(type, header, layout);
  seal(bytes, offset);
  return bytes;
}

bool is_method(Method method) { return method <= Method::zlib; }

// Whether this payload size is possible for this content size.
bool payload_fits(Method method, std::uint32_t payload, std::uint32_t content) {
  return method == Method::stored ? payload == content : payload < content && payload > 0;
}

Result<RecordHeader> decode_segment(std::span<const std::byte> bytes, std::uint32_t largest_content) {
  const auto header = get_members(bytes, segment_layout);
  for (const Method method : {header.literal_method, header.recipe_method})
    if (!is_method(method))
      return failure("it is compressed by method {}, which is not known", static_cast<int>(method));
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
  const auto header = get_members(bytes, data_layout);
  if (!is_method(header.method))
    return failure("it is compressed by method {}, which is not known", static_cast<int>(header.method));
  if (header.content_size == 0 || header.content_size > largest_content)
    return failure("its content of {} bytes is not within 1 to {}", header.content_size, largest_content);
  if (!payload_fits(header.method, header.payload_size, header.content_size))
    return failure("{} bytes of payload for {} of content cannot be", header.payload_size,
                   header.content_size);
  return header;
}

Result<RecordHeader> decode_reference(std::span<const std::byte> bytes, std::uint64_t offset,
                                      std::uint32_t largest_content) {
  const auto header = get_members(bytes, reference_layout);
  if (header.length == 0 || header.length > largest_content || header.begin > largest_content - header.length)
    return failure("{} bytes from {} on of a record of at most {} cannot be", header.length, header.begin,
                   largest_content);
  if (header.archive_offset < ArchiveHeader::size || header.archive_offset >= offset)
    return failure("it refers to byte {}, but no earlier record covers that byte", header.archive_offset);
  return header;
}

}  // namespace

std::array<std::byte, ArchiveHeader::size> encode(const ArchiveHeader& header) {
  std::array<std::byte, ArchiveHeader::size> bytes{};
  std::ranges::transform(magic, bytes.begin(), [](unsigned char c) { return static_cast<std::byte>(c); });
  put_members(bytes, header, archive_layout);
  seal(bytes, 0);
  return bytes;
}

std::array<std::byte, SegmentHeader::size> encode(const SegmentHeader& header, std::uint64_t offset) {
  return sealed_record_of(Type::segment, header, segment_layout, offset);
}

std::array<std::byte, DataHeader::size> encode(const DataHeader& header, std::uint64_t offset) {
  return sealed_record_of(Type::data, header, data_layout, offset);
}

std::array<std::byte, ReferenceHeader::size> encode(const ReferenceHeader& header, std::uint64_t offset) {
  return sealed_record_of(Type::reference, header, reference_layout, offset);
}

std::array<std::byte, IndexHeader::size> encode(const IndexHeader& header, std::uint64_t offset) {
  return sealed_record_of(Type::index, header, index_layout, offset);
}

std::array<std::byte, EndHeader::size> encode(const EndHeader& header, std::uint64_t offset) {
  auto bytes = record_of(Type::end, header, end_layout);
  put_little_endian(std::span(bytes), 48, header.stream_check.low);
  put_little_endian(std::span(bytes), 56, header.stream_check.high);
  seal(bytes, offset);
  return bytes;
}

std::array<std::byte, IndexEntry::size> encode(const IndexEntry& entry) {
  std::array<std::byte, IndexEntry::size> bytes{};
  put_members(bytes, entry, entry_layout);
  return bytes;
}

Result<ArchiveHeader> decode_archive_header(std::span<const std::byte, ArchiveHeader::size> bytes) {
  const bool is_archive =
      std::ranges::equal(magic, bytes.first(magic.size()),
                         [](unsigned char c, std::byte b) { return static_cast<std::byte>(c) == b; });
  if (!is_archive) return failure("this is not an archive of millrace-dedup");
  const auto header = get_members(std::span<const std::byte>(bytes), archive_layout);
  if (header.version < oldest_version || header.version > archive_version)
    return failure("the archive has version {}, this program reads versions {} to {}", header.version,
                   oldest_version, archive_version);
  if (!is_sealed(bytes, 0) || !is_method(header.method) || header.largest_content == 0 ||
      header.largest_content > content_limit)
    return failure("the archive's header does not match its check");
  return header;
}

IndexEntry decode_index_entry(std::span<const std::byte, IndexEntry::size> bytes) {
  return get_members(std::span<const std::byte>(bytes), entry_layout);
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
    return get_members(bytes, index_layout);
  case Type::end:
    break;
  }
  auto header = get_members(bytes, end_layout);
  header.stream_check = {get_little_endian<std::uint64_t>(bytes, 48),
                         get_little_endian<std::uint64_t>(bytes, 56)};
  return header;
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
