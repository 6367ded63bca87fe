// Compares decoding with FFmpeg, which shares no decoder with this program.
#include "millrace/base/file/whole_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "similar/image/image_decoder.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <gif_lib.h>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

constexpr int picture_width = 62;
constexpr int picture_height = 46;
const std::string source_picture = "-f lavfi -i testsrc2=s=62x46:r=5:d=1 ";

std::vector<std::uint8_t> ffmpeg(const std::string& words) {
  std::vector<std::uint8_t> bytes;
  FILE* const pipe = popen(("ffmpeg -nostdin -v error -y " + words).c_str(), "re");
  if (pipe == nullptr) return bytes;
  std::array<std::uint8_t, 4096> part{};
  while (const std::size_t count = fread(part.data(), 1, part.size(), pipe))
    bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
  if (pclose(pipe) != 0) bytes.clear();
  return bytes;
}

bool has_ffmpeg() { return std::system("ffmpeg -version > /dev/null 2>&1") == 0; }

// The first picture as decoded by FFmpeg, on white.
Image seen_by_ffmpeg(const std::string& input) {
  Image image(picture_width, picture_height);
  const auto rgba = ffmpeg(input + " -frames:v 1 -f rawvideo -pix_fmt rgba -");
  EXPECT_EQ(rgba.size(), std::size_t{4} * picture_width * picture_height) << input;
  for (std::size_t i = 0; 4 * i < rgba.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned alpha = rgba[4 * i + 3];
      image.rgb[3 * i + c] =
          static_cast<std::uint8_t>((rgba[4 * i + c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  return image;
}

Result<Image> seen_by_us(const std::string& path) {
  const auto file = read_regular_file(path);
  if (!file || !*file) return failure("no file");
  const auto header = read_image_header(**file);
  if (!header) return std::unexpected(header.error());
  return decode_image(**file, *header, picture_width);
}

double mean_difference(const Image& a, const Image& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i)
    sum += std::abs(a.rgb[i] - b.rgb[i]);
  return sum / static_cast<double>(a.rgb.size());
}

struct Written {
  const char* name;
  const char* file;
  const char* words;  // options for FFmpeg, after the input
  const char* seen;   // reference: "" for the file as decoded by FFmpeg, else FFmpeg's options for the source
  double most_difference;  // mean difference of a sample
};

void PrintTo(const Written& written, std::ostream* out) { *out << written.name; }

class WrittenByFfmpeg : public testing::TestWithParam<Written> {};

TEST_P(WrittenByFfmpeg, IsSeenAsFfmpegSeesIt) {
  if (!has_ffmpeg()) GTEST_SKIP() << "SKIPPED: there is no ffmpeg";
  const TemporaryFolder folder;
  const std::string path = folder / GetParam().file;
  ffmpeg(source_picture + GetParam().words + " " + path);
  const Image expected = *GetParam().seen == '\0' ? seen_by_ffmpeg("-i " + path)
                                                  : seen_by_ffmpeg(source_picture + GetParam().seen);
  const auto seen = seen_by_us(path);
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(seen->width, expected.width);
  ASSERT_EQ(seen->height, expected.height);
  EXPECT_LE(mean_difference(*seen, expected), GetParam().most_difference);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrittenByFfmpeg,
    testing::Values(
        Written{"png8", "a.png", "-frames:v 1 -pix_fmt rgb24", "", 0},
        Written{"png16", "a.png", "-frames:v 1 -pix_fmt rgb48be", "", 1},
        Written{"png16OfGray", "a.png", "-frames:v 1 -pix_fmt gray16be", "", 1},
        Written{"png16WithAlpha", "a.png", "-frames:v 1 -pix_fmt rgba64be", "", 1},
        Written{"gif", "a.gif", "-frames:v 1", "", 0}, Written{"animatedGif", "a.gif", "", "", 0},
        Written{"webpLossless", "a.webp", "-frames:v 1 -c:v libwebp -lossless 1 -pix_fmt bgra", "", 0},
        Written{"webpLossy", "a.webp", "-frames:v 1 -vf gblur=6 -c:v libwebp -q:v 90", "", 4},
        Written{"webpWithAlpha", "a.webp",
                "-frames:v 1 -vf format=rgba,colorchannelmixer=aa=0.5 -c:v libwebp -lossless 1 -pix_fmt bgra",
                "", 1},
        Written{"animatedWebp", "a.webp", "-c:v libwebp_anim -lossless 1 -pix_fmt bgra", "-vf format=bgra",
                0}),
    [](const auto& info) { return info.param.name; });

// Interlaced rows, a picture smaller than the canvas and partly outside it, and a transparent colour.
TEST(Gif, WithInterlacedRowsAndTransparencyIsSeenAsFfmpegSeesIt) {
  if (!has_ffmpeg()) GTEST_SKIP() << "SKIPPED: there is no ffmpeg";
  const TemporaryFolder folder;
  const std::string path = folder / "a.gif";
  constexpr int left = 5;
  constexpr int top = 3;
  constexpr int width = 40;
  constexpr int height = 29;
  int error = 0;
  GifFileType* const gif = EGifOpenFileName(path.c_str(), false, &error);
  ASSERT_NE(gif, nullptr);
  std::array<GifColorType, 4> colours{{{10, 20, 30}, {200, 0, 0}, {0, 200, 0}, {0, 0, 250}}};
  ColorMapObject* const map = GifMakeMapObject(4, colours.data());
  EGifSetGifVersion(gif, true);
  ASSERT_EQ(EGifPutScreenDesc(gif, picture_width, picture_height, 2, 0, map), GIF_OK);
  const GraphicsControlBlock control{
      .DisposalMode = 0, .UserInputFlag = false, .DelayTime = 0, .TransparentColor = 2};
  std::array<GifByteType, 4> block{};
  EGifGCBToExtension(&control, block.data());
  ASSERT_EQ(EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, block.size(), block.data()), GIF_OK);
  ASSERT_EQ(EGifPutImageDesc(gif, left, top, width, height, true, nullptr), GIF_OK);
  for (const auto& [first, step] : {std::pair(0, 8), {4, 8}, {2, 4}, {1, 2}})
    for (int y = first; y < height; y += step) {
      std::vector<GifPixelType> row(width);
      for (int x = 0; x < width; ++x)
        row[static_cast<std::size_t>(x)] = static_cast<GifPixelType>((x / 3 + y / 2) % 4);
      ASSERT_EQ(EGifPutLine(gif, row.data(), width), GIF_OK);
    }
  ASSERT_EQ(EGifCloseFile(gif, &error), GIF_OK);
  GifFreeMapObject(map);
  const auto seen = seen_by_us(path);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(*seen, seen_by_ffmpeg("-i " + path));
}

class CutFile : public testing::TestWithParam<const char*> {};

TEST_P(CutFile, IsAFailureWhereverItIsCut) {
  if (!has_ffmpeg()) GTEST_SKIP() << "SKIPPED: there is no ffmpeg";
  const TemporaryFolder folder;
  const std::string path = folder / GetParam();
  ffmpeg(source_picture + "-frames:v 1 " + path);
  const auto file = read_regular_file(path);
  ASSERT_TRUE(file && *file);
  for (std::size_t size = 0; size < (*file)->size() * 9 / 10; size += 1 + size / 31) {
    const auto part = std::span(**file).first(size);
    const auto header = read_image_header(part);
    EXPECT_FALSE(header && decode_image(part, *header, 1)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, CutFile, testing::Values("a.gif", "a.webp"),
                         [](const auto& info) { return std::string(info.param).substr(2); });

TEST(Gif, ThatClaimsAPictureOfAnySizeIsRefused) {
  std::string text(
      "GIF89a\x10\0\x10\0\x80\0\0\0\0\0\xFF\xFF\xFF,\0\0\0\0\xFF\xFF\xFF\xFF\0\x02\x02\x44\x01\0;", 34);
  const auto bytes = std::as_bytes(std::span(text));
  const auto header = read_image_header(bytes);
  ASSERT_TRUE(header) << header.error().message;
  const auto decoded = decode_image(bytes, *header, 1);
  ASSERT_FALSE(decoded);
  EXPECT_NE(decoded.error().message.find("65535x65535"), std::string::npos) << decoded.error().message;
}

}  // namespace
}  // namespace millrace::similar
