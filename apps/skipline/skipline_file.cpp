#include "skipline/skipline_file.h"

#include "millrace/base/numbers/file_layout.h"
#include "millrace/base/numbers/little_endian.h"
#include "skipline/pbm.h"
#include "skipline/strip_threads.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace::skipline {
namespace {

constexpr std::string_view mark = "skipline";
constexpr std::uint32_t version = 1;

// The fields between the mark and the table of strips.
struct Header {
  static constexpr std::size_t size = 24;

  std::uint32_t version = 0;
  std::uint8_t variant = 0;
  std::uint8_t flags = 0;  // 1 vertical lines, 2 columns
  std::uint16_t range = 0;
  std::uint16_t threshold = 0;
  std::uint16_t skipped = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t strips = 0;
};

struct StripEntry {
  static constexpr std::size_t size = 16;

  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;  // XXH3-64, seeded with the strip's number
};

constexpr std::size_t header_end = mark.size() + Header::size;
constexpr std::size_t checksum_size = sizeof(std::uint64_t);

constexpr std::tuple header_layout{PlacedMember{0, &Header::version},   PlacedMember{4, &Header::variant},
                                   PlacedMember{5, &Header::flags},     PlacedMember{6, &Header::range},
                                   PlacedMember{8, &Header::threshold}, PlacedMember{10, &Header::skipped},
                                   PlacedMember{12, &Header::width},    PlacedMember{16, &Header::height},
                                   PlacedMember{20, &Header::strips}};
constexpr std::tuple entry_layout{PlacedMember{0, &StripEntry::bytes},
                                  PlacedMember{8, &StripEntry::checksum}};

std::array<std::byte, Header::size> encode(const Header& header) {
  std::array<std::byte, Header::size> bytes{};
  put_members(bytes, header, header_layout);
  return bytes;
}

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;  // the address may be null
  const std::size_t end = out.size();
  out.resize(end + bytes.size());
  std::memcpy(out.data() + end, bytes.data(), bytes.size());
}
void append_number(std::vector<std::byte>& out, std::uint64_t number) {
  const std::size_t end = out.size();
  out.resize(end + sizeof number);
  put_little_endian(std::span(out), end, number);
}

int lines_in(const EncodedImage& image) { return image.columns ? image.width : image.height; }

Result<EncodedImage> image_of(const Header& header) {
  EncodedImage image;
  const bool sides = header.width >= 1 && header.width <= longest_side && header.height >= 1 &&
                     header.height <= longest_side &&
                     static_cast<long long>(header.width) * header.height <= most_pixels;
  if (!sides || header.variant > 2 || header.flags > 3) return failure("damaged: an impossible header");
  image.width = static_cast<int>(header.width);
  image.height = static_cast<int>(header.height);
  image.columns = (header.flags & 2) != 0;
  image.parameters = {.variant = static_cast<Variant>(header.variant),
                      .vertical_lines = (header.flags & 1) != 0,
                      .range = header.range,
                      .threshold = header.threshold,
                      .skipped = header.skipped};
  if (header.strips > most_strips ||
      !check(image.parameters, static_cast<int>(header.strips), lines_in(image)))
    return failure("damaged: an impossible header");
  return image;
}

StripEntry strip_entry(std::span<const std::byte> file, std::uint32_t strip) {
  return get_members(file.subspan(header_end + strip * StripEntry::size), entry_layout);
}

// What stands before the strips.
struct FileStart {
  EncodedImage image;  // without strips
  std::uint32_t strips = 0;
  std::size_t strips_begin = 0;
};

Result<FileStart> read_start(std::span<const std::byte> file, std::size_t limit) {
  if (file.size() < mark.size() || std::memcmp(file.data(), mark.data(), mark.size()) != 0)
    return failure("no skipline file");
  if (file.size() < header_end) return failure("cut short at byte {}", file.size());
  const auto header = get_members(file.subspan(mark.size()), header_layout);
  if (header.version != version)
    return failure("of version {}, and this program reads version {}", header.version, version);
  if (header.strips > most_strips) return failure("damaged in the header, before byte {}", header_end);
  const std::size_t table_end = header_end + header.strips * StripEntry::size;
  if (file.size() < table_end + checksum_size) return failure("cut short at byte {}", file.size());
  if (checksum(file.first(table_end), 0) != get_little_endian<std::uint64_t>(file, table_end))
    return failure("damaged in the header, before byte {}", table_end + checksum_size);
  auto image = image_of(header);
  if (!image) return std::unexpected(image.error());
  if (Status checked = check_size(image->width, image->height, limit); !checked)
    return std::unexpected(checked.error());
  return FileStart{
      .image = *std::move(image), .strips = header.strips, .strips_begin = table_end + checksum_size};
}

// The most bytes of all strips: each line has a count of skipped lines, a run per pixel and at most one more
// run of no pixels at each end, and a number takes at most four bytes.
std::size_t most_strip_bytes(const EncodedImage& image) {
  constexpr std::size_t number_bytes = 4;
  const int lines = lines_in(image);
  const int pixels = image.columns ? image.height : image.width;
  return number_bytes * static_cast<std::size_t>(lines) * (static_cast<std::size_t>(pixels) + 3);
}

}  // namespace

Status check(const Parameters& parameters, int strips, int lines) {
  if (parameters.range < 1 || parameters.range > most_range)
    return usage_error("range {} is not from 1 to {}", parameters.range, most_range);
  if (parameters.threshold < 0 || parameters.threshold > parameters.range)
    return usage_error("threshold {} is not from 0 to the range, {}", parameters.threshold, parameters.range);
  if (parameters.skipped < 0 || parameters.skipped > most_skipped)
    return usage_error("{} skipped lines are not from 0 to {}", parameters.skipped, most_skipped);
  if (strips < 1 || strips > most_strips)
    return usage_error("{} strips are not from 1 to {}", strips, most_strips);
  if (strips > lines) return usage_error("{} strips are more than the image has lines, {}", strips, lines);
  return {};
}

Result<EncodedImage> encode(const Bitmap& image, const Parameters& parameters, int strips, bool columns,
                            const AtBirth& at_birth) {
  const int lines = columns ? image.width() : image.height();
  if (Status checked = check(parameters, strips, lines); !checked) return std::unexpected(checked.error());
  const std::optional<Bitmap> turned = columns ? std::optional(image.transposed()) : std::nullopt;
  const Bitmap& by_lines = turned ? *turned : image;
  EncodedImage encoded{.width = image.width(),
                       .height = image.height(),
                       .columns = columns,
                       .parameters = parameters,
                       .strips = std::vector<std::vector<std::byte>>(static_cast<std::size_t>(strips))};
  const Status done = for_each_strip(
      strips,
      [&](int strip) {
        encoded.strips[static_cast<std::size_t>(strip)] =
            encode_strip(by_lines, lines_of(strip, strips, lines), parameters);
      },
      at_birth);
  if (!done) return std::unexpected(done.error());
  return encoded;
}

Result<Bitmap> decode(const EncodedImage& image, const AtBirth& at_birth) {
  const int lines = lines_in(image);
  const auto strips = static_cast<int>(image.strips.size());
  Bitmap bitmap(image.columns ? image.height : image.width, lines);
  std::vector<Status> outcomes(image.strips.size());
  const Status done = for_each_strip(
      strips,
      [&](int strip) {
        const auto i = static_cast<std::size_t>(strip);
        outcomes[i] = decode_strip(image.strips[i], bitmap, lines_of(strip, strips, lines));
      },
      at_birth);
  if (!done) return std::unexpected(done.error());
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (!outcomes[i]) return failure("damaged in strip {}: {}", i, outcomes[i].error().message);
  return image.columns ? bitmap.transposed() : std::move(bitmap);
}

std::vector<std::byte> file_of(const EncodedImage& image) {
  std::vector<std::byte> file;
  append(file, std::as_bytes(std::span(mark)));
  const Parameters& parameters = image.parameters;
  append(file, encode(Header{.version = version,
                             .variant = static_cast<std::uint8_t>(parameters.variant),
                             .flags = static_cast<std::uint8_t>((parameters.vertical_lines ? 1 : 0) +
                                                                (image.columns ? 2 : 0)),
                             .range = static_cast<std::uint16_t>(parameters.range),
                             .threshold = static_cast<std::uint16_t>(parameters.threshold),
                             .skipped = static_cast<std::uint16_t>(parameters.skipped),
                             .width = static_cast<std::uint32_t>(image.width),
                             .height = static_cast<std::uint32_t>(image.height),
                             .strips = static_cast<std::uint32_t>(image.strips.size())}));
  for (std::size_t i = 0; i < image.strips.size(); ++i) {
    append_number(file, image.strips[i].size());
    append_number(file, checksum(image.strips[i], i));
  }
  append_number(file, checksum(file, 0));
  for (const auto& strip : image.strips)
    append(file, strip);
  return file;
}

Result<std::size_t> most_skipline_bytes(std::span<const std::byte> start, std::size_t limit) {
  const auto read = read_start(start, limit);
  if (!read) return std::unexpected(read.error());
  std::size_t bytes = read->strips_begin;
  std::size_t left = most_strip_bytes(read->image);
  for (std::uint32_t i = 0; i < read->strips; ++i) {
    const auto entry = strip_entry(start, i);
    if (entry.bytes > left)
      return failure("damaged: its strips take more bytes than {}x{} pixels can", read->image.width,
                     read->image.height);
    left -= entry.bytes;
    bytes += entry.bytes;
  }
  return bytes;
}

Result<EncodedImage> read_skipline(std::span<const std::byte> file, std::size_t limit) {
  auto start = read_start(file, limit);
  if (!start) return std::unexpected(start.error());
  EncodedImage& image = start->image;
  std::size_t offset = start->strips_begin;
  for (std::uint32_t i = 0; i < start->strips; ++i) {
    const auto entry = strip_entry(file, i);
    if (entry.bytes > file.size() - offset) return failure("cut short at byte {}", file.size());
    const auto strip = file.subspan(offset, entry.bytes);
    if (checksum(strip, i) != entry.checksum)
      return failure("damaged in strip {}, bytes {} to {}", i, offset, offset + entry.bytes);
    image.strips.emplace_back(strip.begin(), strip.end());
    offset += entry.bytes;
  }
  if (offset != file.size()) return failure("followed by something else at byte {}", offset);
  return std::move(image);
}

}  // namespace millrace::skipline
