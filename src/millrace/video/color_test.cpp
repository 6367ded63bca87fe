// Checks colours against other programs: FFmpeg writes the input, zimg (FFmpeg's zscale) converts it
// independently, and ffprobe reads the tags.
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/video/video_testing.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

int sample(const Frame& frame, int plane, int x, int y) {
  const PlaneView view = frame.plane(plane);
  return frame.format().bits > 8 ? view.row<std::uint16_t>(y)[x] : view.row<std::uint8_t>(y)[x];
}

int largest_difference(const Frame& a, const Frame& b) {
  int largest = 0;
  for (int plane = 0; plane < a.planes(); ++plane)
    for (int y = 0; y < a.plane(plane).height; ++y)
      for (int x = 0; x < a.plane(plane).width; ++x)
        largest = std::max(largest, std::abs(sample(a, plane, x, y) - sample(b, plane, x, y)));
  return largest;
}

std::string color_tags(const std::string& path) {
  return output_of("ffprobe -v error -select_streams v:0 -show_entries "
                   "stream=color_range,color_space,color_transfer,color_primaries -of default=nk=0:nw=1 '" +
                   path + "' </dev/null");
}

// --- RGB

struct RgbSource {
  const char* title;
  const char* file;
  const char* encode;  // FFmpeg options
  int bits;
};

class RgbInput : public ::testing::TestWithParam<std::tuple<RgbSource, const char*>> {
 protected:
  void SetUp() override {
    if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
    const auto& [source, size] = GetParam();
    path_ = folder_ / source.file;
    ASSERT_TRUE(
        ffmpeg(fmt::format("-f lavfi -i testsrc2=s={} -frames:v 1 {} '{}'", size, source.encode, path_)));
    high_definition_ = std::string_view(size).starts_with("1280");
  }

  TemporaryFolder folder_;
  std::string path_;
  bool high_definition_ = false;
};

TEST_P(RgbInput, BecomesLimitedRangeByTheMatrixOfItsSizeAsZimgHasIt) {
  const int bits = std::get<0>(GetParam()).bits;
  const Delivered delivered = read_all(path_);
  ASSERT_FALSE(delivered.error) << delivered.error->message;
  ASSERT_EQ(delivered.frames.size(), 1U);
  const FrameFormat& format = delivered.frames[0].format();
  EXPECT_EQ(format.range, ColorRange::limited);
  EXPECT_EQ(format.color_matrix, high_definition_ ? 1 : 6);
  EXPECT_EQ(format.bits, bits);
  ASSERT_TRUE(ffmpeg(
      fmt::format("-i '{}' -vf zscale=matrix={}:range=limited:dither=none,format=yuv444p{} -strict -1 '{}'",
                  path_, high_definition_ ? "709" : "170m", bits > 8 ? fmt::format("{}le", bits) : "",
                  folder_ / "reference.y4m")));
  const Delivered reference = read_all(folder_ / "reference.y4m");
  ASSERT_EQ(reference.frames.size(), 1U);
  // swscale's coefficients have 15 bits. Tolerate one code at 8 bits, and proportionally more at higher
  // depths.
  EXPECT_LE(largest_difference(delivered.frames[0], reference.frames[0]), 1 << (bits - 8));
}

TEST_P(RgbInput, ComesBackFromAFileAsTheSameColors) {
  if (std::get<0>(GetParam()).bits > 8) GTEST_SKIP() << "compared as 8 bits";
  ASSERT_TRUE(write_all(folder_ / "a.mkv", read_all(path_).frames, {.codec = VideoCodec::ffv1}));
  EXPECT_THAT(color_tags(folder_ / "a.mkv"),
              ::testing::AllOf(
                  ::testing::HasSubstr("color_range=tv"),
                  ::testing::HasSubstr(high_definition_ ? "color_space=bt709" : "color_space=smpte170m")));
  // Convert to RGB by the file's own tags, as players do.
  const auto rgb = [&](const std::string& input) {
    return output_of(
        fmt::format("ffmpeg -v error -i '{}' -vf zscale,format=gbrp -f rawvideo - </dev/null", input));
  };
  const std::string before = rgb(path_);
  const std::string after = rgb(folder_ / "a.mkv");
  ASSERT_EQ(before.size(), after.size());
  ASSERT_FALSE(before.empty());
  int largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    largest = std::max(
        largest, std::abs(static_cast<unsigned char>(before[i]) - static_cast<unsigned char>(after[i])));
  EXPECT_LE(largest, 3);  // 256 RGB codes map to only 220 and 225
}

INSTANTIATE_TEST_SUITE_P(
    Files, RgbInput,
    ::testing::Combine(::testing::Values(RgbSource{"png", "a.png", "-pix_fmt rgb24", 8},
                                         RgbSource{"png_with_alpha", "a.png", "-pix_fmt rgba", 8},
                                         RgbSource{"x264rgb", "a.mkv", "-c:v libx264rgb -qp 0", 8},
                                         RgbSource{"planar", "a.mkv", "-c:v ffv1 -pix_fmt gbrp", 8},
                                         RgbSource{"planar10", "a.mkv", "-c:v ffv1 -pix_fmt gbrp10le", 10},
                                         RgbSource{"png16", "a.png", "-pix_fmt rgb48be", 16}),
                       ::testing::Values("33x17", "352x288", "1280x18")),
    [](const auto& test) {
      return fmt::format("{}_{}", std::get<0>(test.param).title, std::get<1>(test.param));
    });

// The definition in BT.601 and BT.709: Y' = 16 + 219 (Kr R + Kg G + Kb B), C'b = 128 + 224 (B - Y) / (2 - 2
// Kb).
TEST(RgbInput, HasTheCodeValuesOfTheStandards) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  struct Case {
    const char* color;
    const char* size;
    std::array<int, 3> codes;
  };
  for (const Case& each : {Case{"white", "64x48", {235, 128, 128}}, Case{"black", "64x48", {16, 128, 128}},
                           Case{"red", "64x48", {81, 90, 240}}, Case{"0x00ff00", "64x48", {145, 54, 34}},
                           Case{"white", "1280x16", {235, 128, 128}}, Case{"red", "1280x16", {63, 102, 240}},
                           Case{"blue", "1280x16", {32, 240, 118}}}) {
    TemporaryFolder folder;
    ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i color={}:s={},format=rgb24 -frames:v 1 '{}'", each.color,
                                   each.size, folder / "a.png")));
    const Delivered delivered = read_all(folder / "a.png");
    ASSERT_EQ(delivered.frames.size(), 1U);
    for (int plane = 0; plane < 3; ++plane)
      EXPECT_NEAR(sample(delivered.frames[0], plane, 9, 9), each.codes[static_cast<std::size_t>(plane)], 1)
          << each.color << " " << each.size << " plane " << plane;
  }
}

// --- tags

struct Tags {
  const char* title;
  const char* words;  // FFmpeg options for the input
};

class ColorTags : public ::testing::TestWithParam<std::tuple<Tags, const char*, const char*>> {};

TEST_P(ColorTags, TravelFromInputToOutput) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [tags, pixels, output] = GetParam();
  TemporaryFolder folder;
  // At 1280x720, FFmpeg itself would add tags that nobody gave.
  ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i color=gray:s=1280x720,format={} -frames:v 2 {} -c:v ffv1 '{}'",
                                 pixels, tags.words, folder / "in.mkv")));
  const bool lossless = std::string_view(output).ends_with(".mkv");
  ASSERT_TRUE(write_all(
      folder / output, read_all(folder / "in.mkv").frames,
      {.codec = lossless ? VideoCodec::ffv1 : VideoCodec::automatic, .preset = lossless ? "" : "ultrafast"}));
  std::string expected = color_tags(folder / "in.mkv");
  std::string found = color_tags(folder / output);
  if (std::string_view(output).ends_with(".mp4")) {
    // H.264 can tag limited range only together with other tags. Without tags, limited is the default
    // (E.2.1).
    for (std::string* each : {&expected, &found})
      if (const auto at = each->find("color_range=tv"); at != std::string::npos)
        each->replace(at, 14, "color_range=unknown");
  }
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Files, ColorTags,
    ::testing::Combine(
        ::testing::Values(
            Tags{"none", ""}, Tags{"limited", "-color_range tv"}, Tags{"full", "-color_range pc"},
            Tags{"bt709", "-color_range tv -color_primaries bt709 -color_trc bt709 -colorspace bt709"},
            Tags{"bt601",
                 "-color_range tv -color_primaries smpte170m -color_trc smpte170m -colorspace smpte170m"},
            Tags{"hdr", "-color_range tv -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc"},
            Tags{"matrix_alone", "-colorspace bt709"}),
        ::testing::ValuesIn(first_if_sanitized({"yuv420p", "yuv444p"})),
        ::testing::Values("out.mkv", "out.mp4")),
    [](const auto& test) {
      return fmt::format("{}_{}_{}", std::get<0>(test.param).title, std::get<1>(test.param),
                         std::string(std::get<2>(test.param)).substr(4));
    });

TEST(ColorTags, OfRangeTravelThroughY4m) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  for (const char* range : {"tv", "pc"}) {
    TemporaryFolder folder;
    ASSERT_TRUE(ffmpeg(fmt::format(
        "-f lavfi -i color=gray:s=64x48,format=yuv420p -frames:v 2 -color_range {} -c:v ffv1 '{}'", range,
        folder / "in.mkv")));
    ASSERT_TRUE(write_all(folder / "out.y4m", read_all(folder / "in.mkv").frames));
    EXPECT_THAT(color_tags(folder / "out.y4m"), ::testing::HasSubstr(fmt::format("color_range={}", range)));
  }
}

// Every layout, including odd sizes, must pass unchanged, whatever its tags say.
TEST(ColorTags, ChangeNoSample) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  for (const char* pixels : {"gray", "yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "nv12"}) {
    for (const char* range : {"tv", "pc"}) {
      TemporaryFolder folder;
      ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc2=s=50x38,format={} -frames:v 2 -color_range {} "
                                     "-colorspace bt709 -c:v rawvideo '{}'",
                                     pixels, range, folder / "in.nut")));
      const Delivered delivered = read_all(folder / "in.nut");
      ASSERT_EQ(delivered.frames.size(), 2U);
      const std::string planar = std::string_view(pixels) == "nv12" ? "yuv420p" : pixels;
      ASSERT_TRUE(ffmpeg(fmt::format("-i '{}' -pix_fmt {} -strict -1 '{}'", folder / "in.nut", planar,
                                     folder / "reference.y4m")));
      const Delivered reference = read_all(folder / "reference.y4m");
      ASSERT_EQ(reference.frames.size(), 2U);
      EXPECT_TRUE(same_samples(delivered.frames[1], reference.frames[1])) << pixels << " " << range;
    }
  }
}

}  // namespace
}  // namespace millrace::video
