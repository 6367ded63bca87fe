#include "similar/image/image_decoder.h"
#include "similar/image/similar_testing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <png.h>
#include <string>
#include <turbojpeg.h>
#include <zlib.h>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

std::vector<std::byte> png_of(const void* pixels, int width, int height, unsigned format) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<unsigned>(width);
  png.height = static_cast<unsigned>(height);
  png.format = format;
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_to_memory(&png, nullptr, &size, 0, pixels, 0, nullptr), 0);
  std::vector<std::byte> file(size);
  EXPECT_NE(png_image_write_to_memory(&png, file.data(), &size, 0, pixels, 0, nullptr), 0);
  file.resize(size);
  return file;
}

// A JPEG with an Exif segment after its first marker.
std::vector<std::byte> with_orientation(const std::vector<std::byte>& jpeg, int orientation,
                                        bool little_endian) {
  std::string tiff = little_endian
                         ? std::string("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0?\0\0\0\0\0\0\0", 26)
                         : std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0?\0\0\0\0\0\0", 26);
  tiff[tiff.find('?')] = static_cast<char>(orientation);
  std::string segment("\xFF\xE1\0\0Exif\0\0", 10);
  segment[3] = static_cast<char>(2 + 6 + tiff.size());
  segment += tiff;
  std::vector<std::byte> file(jpeg.begin(), jpeg.begin() + 2);
  const auto bytes = std::as_bytes(std::span(segment));
  file.insert(file.end(), bytes.begin(), bytes.end());
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
  return file;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(ImageDecoder, GivesBackTheVeryPixelsOfAPng) {
  const Image image = scene(1, 61, 47);
  const auto file = png_of(image.rgb.data(), 61, 47, PNG_FORMAT_RGB);
  const auto header = read_image_header(file);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->format, ImageFormat::png);
  const auto decoded = decode_image(file, *header, 1);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, image);
}

TEST(ImageDecoder, LaysTransparencyOverWhite) {
  const std::array<std::uint8_t, 8> pixels{10, 20, 30, 255, 10, 20, 30, 0};
  const auto file = png_of(pixels.data(), 2, 1, PNG_FORMAT_RGBA);
  const auto decoded = decode_image(file, *read_image_header(file), 1);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->rgb, (std::vector<std::uint8_t>{10, 20, 30, 255, 255, 255}));
}

TEST(ImageDecoder, ShrinksAJpegNoFurtherThanAsked) {
  const auto file = encode_jpeg(scene(2, 1000, 700), 90);
  const auto header = read_image_header(*file);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->width, 1000);
  EXPECT_EQ(header->height, 700);
  for (const auto& [least, width] : {std::pair(701, 1000), {351, 1000}, {350, 500}, {170, 250}, {10, 125}}) {
    const auto decoded = decode_image(*file, *header, least);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->width, width) << least;
  }
}

std::vector<std::byte> jpeg_of(const Image& image, int subsampling, int flags) {
  void* const encoder = tjInitCompress();
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(encoder, image.rgb.data(), image.width, 0, image.height, TJPF_RGB, &buffer, &size,
                        subsampling, 80, flags),
            0);
  const auto* first = reinterpret_cast<const std::byte*>(buffer);
  std::vector<std::byte> file(first, first + size);
  tjFree(buffer);
  tjDestroy(encoder);
  return file;
}

// A few bytes can claim any size, so memory must be known from the header.
TEST(DecodingBytes, AreKnownFromTheHeader) {
  const auto bytes = [](std::span<const std::byte> file, int least) {
    return decoding_bytes(read_image_header(file).value(), least);
  };
  const Image image = scene(7, 640, 480);
  constexpr std::size_t pixels = 640UL * 480;
  constexpr std::size_t rows = 64UL * 4 * 640;
  EXPECT_EQ(bytes(png_of(image.rgb.data(), 640, 480, PNG_FORMAT_RGB), 1), 3 * pixels + rows);
  for (const int subsampling : {TJSAMP_444, TJSAMP_420}) {
    const auto baseline = jpeg_of(image, subsampling, 0);
    EXPECT_EQ(bytes(baseline, 480), 3 * pixels + rows);
    EXPECT_EQ(bytes(baseline, 240), 3 * pixels / 4 + rows);
    EXPECT_EQ(bytes(baseline, 1), 3 * pixels / 64 + rows);
    // All coefficients of its three components, 16 bits each.
    EXPECT_EQ(bytes(jpeg_of(image, subsampling, TJFLAG_PROGRESSIVE), 1), 3 * pixels / 64 + rows + 6 * pixels);
  }
  const auto grey = jpeg_of(image, TJSAMP_GRAY, TJFLAG_PROGRESSIVE);
  EXPECT_EQ(bytes(grey, 480), 3 * pixels + rows + 2 * pixels);
  // If the first scan header is missing, assume the maximum.
  const auto baseline = jpeg_of(image, TJSAMP_444, 0);
  const auto scan = std::ranges::search(baseline, std::array{std::byte{0xFF}, std::byte{0xDA}}).begin();
  EXPECT_EQ(bytes(std::span(baseline.begin(), scan), 480), 3 * pixels + rows + 6 * pixels);
}

// The header reader must find what the decoder finds, which skips markers without a length.
TEST(DecodingBytes, AreThoseOfTheSegmentsThatTheDecoderReads) {
  const Image image = scene(7, 640, 480);
  const auto progressive = jpeg_of(image, TJSAMP_444, TJFLAG_PROGRESSIVE);
  const std::size_t expected = decoding_bytes(read_image_header(progressive).value(), 1);
  for (const unsigned code : {0x00U, 0x01U, 0xD0U, 0xD3U, 0xD7U}) {
    // Read as a segment, the marker would end in the middle of the next one, at bytes that look like the
    // frame and scan of a non-progressive JPEG with one component.
    std::string text("\xFF?\xFF\xEF\xFF\xFF", 6);
    text[1] = static_cast<char>(code);
    text.resize(4 + 0xFFFF);
    const std::string other("\xFF\xC0\0\x0B\x08\x01\xE0\x02\x80\x01\x01\x11\0\xFF\xDA\0\x08\x01", 18);
    text.resize(2 + 0xFFEF);
    text += other;
    text.resize(4 + 0xFFFF);
    auto file = progressive;
    const auto inserted = bytes_of(text);
    file.insert(file.begin() + 2, inserted.begin(), inserted.end());
    const auto header = read_image_header(file);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(decoding_bytes(*header, 1), expected) << code;
    if (code != 0) {  // not a marker, hence damage
      EXPECT_TRUE(decode_image(file, *header, 1)) << code;
    }
  }
}

void insert_chunk(std::vector<std::byte>& png, std::string_view type, std::string_view data) {
  constexpr std::size_t behind_header = 8 + 25;
  std::string chunk(type);
  chunk += data;
  const auto number = [](std::uint32_t value) {
    std::string text;
    for (const int shift : {24, 16, 8, 0})
      text += static_cast<char>(value >> static_cast<unsigned>(shift));
    return text;
  };
  const auto crc = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<uInt>(chunk.size())));
  const auto bytes = bytes_of(number(static_cast<std::uint32_t>(data.size())) + chunk + number(crc));
  png.insert(png.begin() + behind_header, bytes.begin(), bytes.end());
}

TEST(ImageDecoder, PassesOverChunksThatHaveNoSayInThePixels) {
  const Image image = scene(1, 61, 47);
  auto file = png_of(image.rgb.data(), 61, 47, PNG_FORMAT_RGB);
  insert_chunk(file, "gAMA", std::string_view("\0\0\xB1\x8F", 4));  // 1/2.2, the same as without gAMA
  // libpng accepts a thousand at most.
  for (int i = 0; i < 1500; ++i)
    insert_chunk(file, i % 2 == 0 ? "tEXt" : "prVt", std::string_view("Comment\0none", 12));
  const auto decoded = decode_image(file, read_image_header(file).value(), 1);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, image);
}

TEST(ImageDecoder, HeedsTheGammaOfAPng) {
  const Image image = scene(1, 61, 47);
  auto file = png_of(image.rgb.data(), 61, 47, PNG_FORMAT_RGB);
  // The encoder's sRGB chunk would override gAMA.
  const auto at = std::ranges::search(file, bytes_of("sRGB")).begin();
  if (at != file.end()) file.erase(at - 4, at + 9);
  insert_chunk(file, "gAMA", std::string_view("\0\x01\x86\xA0", 4));  // linear
  insert_chunk(file, "tEXt", std::string_view("Comment\0none", 12));
  const auto decoded = decode_image(file, read_image_header(file).value(), 1);
  ASSERT_TRUE(decoded) << decoded.error().message;
  // sRGB of 0.5 is 0.735 (IEC 61966-2-1).
  for (std::size_t i = 0; i < image.rgb.size(); ++i) {
    if (image.rgb[i] == 128) {
      EXPECT_NEAR(decoded->rgb[i], 188, 1);
    }
    EXPECT_GE(decoded->rgb[i], image.rgb[i]);
  }
  EXPECT_NE(*decoded, image);
}

class Orientation : public testing::TestWithParam<int> {};

TEST_P(Orientation, IsReadFromExifOfEitherByteOrder) {
  const auto jpeg = encode_jpeg(scene(3, 32, 24), 90);
  for (const bool little_endian : {false, true}) {
    const auto file = with_orientation(*jpeg, GetParam(), little_endian);
    const auto header = read_image_header(file);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->orientation, GetParam());
    EXPECT_EQ(header->width, 32);
    EXPECT_TRUE(decode_image(file, *header, 1));
  }
}

TEST_P(Orientation, IsUndoneByTheTurnThatExifDefines) {
  // Expected position of the first stored pixel, row and column (Exif 2.32, table 4.6.4 A).
  const Image stored = scene(4, 5, 3);
  const Image turned = upright(stored, GetParam());
  const auto corner = [&](bool right, bool bottom) {
    return turned.pixel(right ? turned.width - 1 : 0, bottom ? turned.height - 1 : 0);
  };
  const bool right = GetParam() == 2 || GetParam() == 3 || GetParam() == 6 || GetParam() == 7;
  const bool bottom = GetParam() == 3 || GetParam() == 4 || GetParam() == 7 || GetParam() == 8;
  EXPECT_EQ(turned.width, GetParam() < 5 ? 5 : 3);
  EXPECT_EQ(std::memcmp(corner(right, bottom), stored.pixel(0, 0), 3), 0);
  EXPECT_EQ(std::memcmp(corner(!right, !bottom), stored.pixel(4, 2), 3), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Orientation, testing::Range(1, 9));

TEST(ImageHeaderErrors, NameTheFormatOrTheDamage) {
  const auto message = [](std::string_view text) {
    return read_image_header(bytes_of(text)).error().message;
  };
  EXPECT_EQ(message(""), "empty");
  EXPECT_EQ(message("BM......"), "a BMP image; JPEG, PNG, GIF and WebP can be read");
  EXPECT_EQ(message("Dear reader"), "not an image of a known format; JPEG, PNG, GIF and WebP can be read");
  EXPECT_EQ(message("GIF89a.."), "damaged: it ends before the GIF's size");
  EXPECT_EQ(message("RIFF....WEBPVP8 "), "damaged: it ends before the WebP's size");
  EXPECT_EQ(message("\xFF\xD8\xFF"), "damaged: it ends before the JPEG's size");
  EXPECT_EQ(message("\x89PNG\r\n\x1A\n"), "damaged: it ends before the PNG's size");
}

TEST(ImageHeaderErrors, RefuseSizesThatWouldFillTheMemory) {
  auto file = png_of(scene(1, 8, 8).rgb.data(), 8, 8, PNG_FORMAT_RGB);
  file[16] = file[20] = std::byte{0x10};
  const auto header = read_image_header(file);
  ASSERT_FALSE(header);
  EXPECT_NE(header.error().message.find("million can be read"), std::string::npos);
}

class CutImage : public testing::TestWithParam<ImageFormat> {};

TEST_P(CutImage, IsAFailureWhereverItIsCut) {
  const Image image = scene(6, 90, 70);
  const auto file = GetParam() == ImageFormat::jpeg ? *encode_jpeg(image, 90)
                                                    : png_of(image.rgb.data(), 90, 70, PNG_FORMAT_RGB);
  // All pixels of a PNG are complete without its end chunk.
  const std::size_t pixels_end = file.size() - (GetParam() == ImageFormat::png ? 20 : 2);
  for (std::size_t size = 0; size < pixels_end; size += 1 + size / 31) {
    const auto part = std::span(file).first(size);
    const auto header = read_image_header(part);
    if (header) {
      EXPECT_FALSE(decode_image(part, *header, 1)) << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, CutImage, testing::Values(ImageFormat::jpeg, ImageFormat::png));

}  // namespace
}  // namespace millrace::similar
