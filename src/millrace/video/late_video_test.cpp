// Matroska stores no decoding times, and FFmpeg cannot guess them for video that begins after what it looks
// at first.
#include "millrace/video/video_testing.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

class LateVideo : public ::testing::TestWithParam<std::tuple<int, int, const char*>> {};

TEST_P(LateVideo, KeepsTheTimesOfItsFrames) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [start, rate, encode] = GetParam();
  TemporaryFolder folder;
  const std::string path = folder / "in.mkv";
  ASSERT_TRUE(ffmpeg(
      fmt::format("-itsoffset {} -f lavfi -i testsrc2=s=32x32:r={}:d=3 -f lavfi -i sine=440:d={}:r=8000 "
                  "{} -g {} -c:a pcm_s16le '{}'",
                  start, rate, start + 3, encode, rate, path)));
  auto reader = open_reader(path);
  ASSERT_TRUE(reader) << reader.error().message;
  const Delivered delivered = read_all(**reader);
  EXPECT_FALSE(delivered.error) << delivered.error->message;
  ASSERT_EQ(delivered.frames.size(), static_cast<std::size_t>(3 * rate));
  for (std::size_t i = 0; i < delivered.frames.size(); ++i)
    ASSERT_NEAR(seconds_of(delivered.frames[i]), start + static_cast<double>(i) / rate, 0.002) << i;
  EXPECT_EQ((*reader)->losses().clock_jumps, 0);
}

INSTANTIATE_TEST_SUITE_P(Starts, LateVideo,
                         ::testing::Combine(::testing::Values(0, 4, 6, 11), ::testing::Values(5, 25, 60),
                                            ::testing::Values("-c:v libx264 -bf 3",
                                                              "-c:v libx264 -bf 16 -b_strategy 0",
                                                              "-c:v mpeg4 -bf 2")));

}  // namespace
}  // namespace millrace::video
