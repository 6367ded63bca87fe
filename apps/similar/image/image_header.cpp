#include "similar/image/image_header.h"

#include "similar/image/bytes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::similar {
namespace {

// Exif 2.32, 4.5 and 4.6.4: a TIFF header, then the first directory of 12-byte entries.
std::optional<int> exif_orientation(std::span<const std::byte> tiff) {
  const bool little_endian = Bytes(tiff).has(0, "II");
  if (!little_endian && !Bytes(tiff).has(0, "MM")) return std::nullopt;
  const Bytes bytes(tiff, little_endian);
  const auto directory = bytes.number(4, 4);
  if (!directory) return std::nullopt;
  const auto entries = bytes.number(*directory, 2);
  if (!entries) return std::nullopt;
  for (std::size_t i = 0; i < *entries; ++i) {
    const std::size_t entry = std::size_t{*directory} + 2 + 12 * i;
    const auto tag = bytes.number(entry, 2);
    if (!tag) return std::nullopt;
    if (*tag != 0x0112) continue;
    const auto value = bytes.number(entry + 8, 2);
    if (!value || *value < 1 || *value > 8) return std::nullopt;
    return static_cast<int>(*value);
  }
  return std::nullopt;
}

// ITU-T T.81, table B.1: TEM and RSTm are two bytes without a length. So is a stuffed zero, which is not a
// marker and which decoders skip. Reading the next two bytes as a length would find other segments than
// decoders do.
bool is_without_length(std::uint32_t code) { return code <= 0x01 || (code >= 0xD0 && code <= 0xD7); }

// ITU-T T.81, annex B: markers of two bytes. Most are followed by a length that includes its own two bytes.
// The frame header has the size. The first scan header after it tells how many components are interleaved.
Result<ImageHeader> jpeg_header(const Bytes& file) {
  ImageHeader header{.format = ImageFormat::jpeg, .channels = 0, .needs_coefficients = true};
  // After the frame header, errors are left to the decoder. The worst case is then assumed, at no cost.
  const auto wrong = [&](std::string message) -> Result<ImageHeader> {
    if (header.channels > 0) return header;
    return failure("damaged: {}", message);
  };
  bool progressive = false;
  std::size_t at = 2;
  for (;;) {
    const auto mark = file.number(at, 1);
    const auto code = file.number(at + 1, 1);
    if (!mark || !code) return wrong("it ends before the JPEG's size");
    if (*mark != 0xFF) return wrong(fmt::format("no JPEG marker at byte {}", at));
    if (*code == 0xFF) {  // fill byte
      ++at;
      continue;
    }
    if (is_without_length(*code)) {
      at += 2;
      continue;
    }
    const auto length = file.number(at + 2, 2);
    if (!length) return wrong("it ends before the JPEG's size");
    if (*length < 2) return wrong(fmt::format("a JPEG segment of no length at byte {}", at));
    const bool is_frame = *code >= 0xC0 && *code <= 0xCF && *code != 0xC4 && *code != 0xC8 && *code != 0xCC;
    if (is_frame && header.channels == 0) {
      const auto height = file.number(at + 5, 2);
      const auto width = file.number(at + 7, 2);
      const auto channels = file.number(at + 9, 1);
      if (!height || !width || !channels) return wrong("it ends before the JPEG's size");
      header.width = static_cast<int>(*width);
      header.height = static_cast<int>(*height);
      header.channels = std::max(1, static_cast<int>(*channels));
      progressive = *code != 0xC0 && *code != 0xC1;
    }
    if (*code == 0xD9) return wrong("a JPEG without a size");
    if (*code == 0xDA) {
      const auto together = file.number(at + 4, 1);
      if (together && header.channels > 0)
        header.needs_coefficients = progressive || static_cast<int>(*together) < header.channels;
      return wrong("a JPEG without a size");
    }
    constexpr std::size_t exif_mark = 6;
    if (*code == 0xE1 && *length >= 2 + exif_mark && at + 2 + *length <= file.size() &&
        file.has(at + 4, std::string_view("Exif\0\0", exif_mark))) {
      const auto tiff = file.part(at + 4 + exif_mark, *length - 2 - exif_mark);
      header.orientation = exif_orientation(tiff).value_or(header.orientation);
    }
    at += 2 + *length;
  }
}

// PNG specification, 11.2.2: IHDR is the first chunk.
Result<ImageHeader> png_header(const Bytes& file) {
  const auto width = file.number(16, 4);
  const auto height = file.number(20, 4);
  if (!width || !height || !file.has(12, "IHDR")) return failure("damaged: it ends before the PNG's size");
  constexpr std::uint32_t longest = 0x7FFF'FFFF;
  if (*width > longest || *height > longest) return failure("damaged: a PNG of an impossible size");
  return ImageHeader{
      .format = ImageFormat::png, .width = static_cast<int>(*width), .height = static_cast<int>(*height)};
}

// GIF89a, 18: the size of the canvas on which pictures are drawn.
Result<ImageHeader> gif_header(const Bytes& file) {
  const auto width = file.number(6, 2);
  const auto height = file.number(8, 2);
  if (!width || !height) return failure("damaged: it ends before the GIF's size");
  return ImageHeader{
      .format = ImageFormat::gif, .width = static_cast<int>(*width), .height = static_cast<int>(*height)};
}

// Exif orientation, which is in a separate chunk.
int webp_orientation(const Bytes& file, std::size_t at) {
  constexpr std::size_t chunk_start = 8;
  constexpr std::string_view exif_mark("Exif\0\0", 6);  // as in a JPEG; some writers copy it from there
  while (const auto size = file.number(at + 4, 4)) {
    if (file.has(at, "EXIF")) {
      auto exif = file.part(at + chunk_start, std::min<std::size_t>(*size, file.size() - at - chunk_start));
      if (Bytes(exif).has(0, exif_mark)) exif = exif.subspan(exif_mark.size());
      return exif_orientation(exif).value_or(1);
    }
    at += chunk_start + std::size_t{*size} + *size % 2;
  }
  return 1;
}

// WebP container specification: RIFF chunks padded to even lengths. The first is a lossy picture, a lossless
// picture, or an extended header.
Result<ImageHeader> webp_header(const Bytes& file) {
  ImageHeader header{.format = ImageFormat::webp};
  const auto ends = [] { return failure("damaged: it ends before the WebP's size"); };
  constexpr std::uint32_t side_mask = 0x3FFF;
  constexpr std::size_t first = 12;
  if (file.has(first, "VP8X")) {
    const auto flags = file.number(20, 1);
    const auto width = file.number(24, 3);
    const auto height = file.number(27, 3);
    if (!flags || !width || !height) return ends();
    header.animated = (*flags & 2U) != 0;
    header.width = static_cast<int>(*width) + 1;
    header.height = static_cast<int>(*height) + 1;
    header.orientation = webp_orientation(file, first);
  } else if (file.has(first, "VP8L")) {
    const auto sides = file.number(21, 4);
    if (!sides) return ends();
    header.width = static_cast<int>(*sides & side_mask) + 1;
    header.height = static_cast<int>(*sides >> 14U & side_mask) + 1;
  } else {
    const auto width = file.number(26, 2);
    const auto height = file.number(28, 2);
    if (!width || !height) return ends();
    header.width = static_cast<int>(*width & side_mask);
    header.height = static_cast<int>(*height & side_mask);
  }
  return header;
}

std::string_view other_format(const Bytes& file) {
  if (file.has(0, std::string_view("II*\0", 4)) || file.has(0, std::string_view("MM\0*", 4)))
    return "a TIFF image";
  if (file.has(0, "BM")) return "a BMP image";
  if (file.has(4, "ftypheic") || file.has(4, "ftypmif1")) return "a HEIF image";
  if (file.has(4, "ftypavif")) return "an AVIF image";
  return "not an image of a known format";
}

Result<ImageHeader> header_of(std::span<const std::byte> bytes) {
  const Bytes file(bytes);
  const Bytes little_endian(bytes, true);
  if (file.has(0, "\xFF\xD8\xFF")) return jpeg_header(file);
  if (file.has(0, "\x89PNG\r\n\x1A\n")) return png_header(file);
  if (file.has(0, "GIF87a") || file.has(0, "GIF89a")) return gif_header(little_endian);
  if (file.has(0, "RIFF") && file.has(8, "WEBP")) return webp_header(little_endian);
  return failure("{}; JPEG, PNG, GIF and WebP can be read", other_format(file));
}

}  // namespace

Result<ImageHeader> read_image_header(std::span<const std::byte> bytes) {
  if (bytes.empty()) return failure("empty");
  auto header = header_of(bytes);
  if (!header) return header;
  if (header->width == 0 || header->height == 0) return failure("damaged: an image without pixels");
  if (static_cast<long long>(header->width) * header->height > most_pixels)
    return failure("{}x{} pixels; at most {} million can be read", header->width, header->height,
                   most_pixels / 1'000'000);
  return header;
}

}  // namespace millrace::similar
