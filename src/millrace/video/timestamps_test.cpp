// Compares presentation times of input and output with ffprobe.
#include "millrace/video/video_testing.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

std::vector<double> times_of(const std::string& path) {
  std::istringstream lines(
      output_of("ffprobe -v error -select_streams v:0 -show_entries frame=pts_time -of csv=p=0 '" + path +
                "' </dev/null"));
  std::vector<double> times;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) times.push_back(std::stod(line));
  return times;
}

struct Source {
  const char* title;
  const char* file;
  const char* words;
};

class FrameTimes : public ::testing::TestWithParam<std::tuple<Source, const char*>> {};

TEST_P(FrameTimes, OfTheOutputAreThoseOfTheInput) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [source, output] = GetParam();
  TemporaryFolder folder;
  const std::string input = folder / source.file;
  ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i {} -preset ultrafast -bf 2 '{}'", source.words, input)));
  const Delivered delivered = read_all(input);
  ASSERT_FALSE(delivered.error) << delivered.error->message;
  const Status written = write_all(folder / output, delivered.frames);
  ASSERT_TRUE(written) << written.error().message;
  const std::vector<double> expected = times_of(input);
  ASSERT_GE(expected.size(), 9U);
  // Matroska stores milliseconds; ffprobe prints microseconds.
  const double within = std::string_view(output).ends_with(".mkv") ? 0.502e-3 : 2e-6;
  EXPECT_THAT(times_of(folder / output), ::testing::Pointwise(::testing::DoubleNear(within), expected));
}

constexpr const char* gap =
    "\"testsrc2=s=64x48:r=30000/1001:d=0.4,setpts='PTS+if(gte(N,5),100/TB,0)'\" -fps_mode passthrough";
constexpr const char* uneven =
    "\"testsrc2=s=64x48:r=25:d=0.4,setpts='PTS+mod(N,3)*0.011/TB'\" -fps_mode passthrough";

INSTANTIATE_TEST_SUITE_P(
    Files, FrameTimes,
    ::testing::Combine(
        ::testing::Values(Source{"transport_stream_that_begins_late", "a.ts", "testsrc2=s=64x48:r=25:d=0.4"},
                          Source{"ntsc_rate", "a.mp4", "testsrc2=s=64x48:r=30000/1001:d=0.4"},
                          Source{"milliseconds", "a.mkv", "testsrc2=s=64x48:r=30000/1001:d=0.4"},
                          Source{"gap_of_100_seconds", "a.mkv", gap}, Source{"gap_in_mp4", "b.mp4", gap},
                          Source{"uneven", "a.mkv", uneven}, Source{"uneven_in_mp4", "b.mp4", uneven}),
        ::testing::Values("out.mkv", "out.mp4")),
    [](const auto& test) {
      return fmt::format("{}_to_{}", std::get<0>(test.param).title,
                         std::string(std::get<1>(test.param)).substr(4));
    });

}  // namespace
}  // namespace millrace::video
