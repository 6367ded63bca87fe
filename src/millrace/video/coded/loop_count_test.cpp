// Tests loop counts with files written by FFmpeg.
#include "millrace/video/coded/loop_count.h"
#include "millrace/video/video_testing.h"

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

std::optional<std::uint32_t> loop_count_of_file(const std::string& path) {
  const std::vector<char> bytes = file_bytes(path);
  return loop_count_of(
      {reinterpret_cast<const std::uint8_t*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4096)});
}

TEST(LoopCount, OfAnAnimationIsReadAndWrittenAgain) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  for (const int loop : {-1, 0, 1, 7, 65535}) {
    const std::string input = folder / fmt::format("in{}.gif", loop);
    ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc2=s=32x32:r=10:d=0.3 -loop {} '{}'", loop, input)));
    const auto times = loop_count_of_file(input);
    EXPECT_EQ(times, loop < 0 ? 1U : loop == 0 ? 0U : static_cast<std::uint32_t>(loop) + 1);
    const auto reader = open_reader(input);
    ASSERT_TRUE(reader) << reader.error().message;
    const Delivered delivered = read_all(**reader);
    ASSERT_EQ(delivered.frames.size(), 3U);
    const std::string output = folder / "out.gif";
    ASSERT_TRUE(write_all(output, delivered.frames, {.properties = (*reader)->properties()}));
    EXPECT_EQ(loop_count_of_file(output), times);
  }
  const std::string apng = folder / "in.apng";
  ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc2=s=32x32:r=10:d=0.3 -plays 5 '{}'", apng)));
  EXPECT_EQ(loop_count_of_file(apng), 5U);
}

TEST(LoopCount, IsNamedWhereTheOutputHasNoPlaceForIt) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc2=s=32x32:r=10:d=0.3 -loop 0 '{}'", folder / "in.gif")));
  auto reader = open_reader(folder / "in.gif");
  ASSERT_TRUE(reader) << reader.error().message;
  auto writer = open_writer(folder / "out.mkv", (*reader)->format(), {.properties = (*reader)->properties()});
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ((*writer)->not_kept(), std::vector<std::string>{"being played without end"});
}

TEST(LoopCount, OfWhatIsNoAnimationOrEndsTooEarlyIsNone) {
  EXPECT_EQ(loop_count_of({}), std::nullopt);
  const std::string start = std::string("GIF89a\x01\0\x01\0\0\0\0", 13) + "!\xff\x0bNETSCAPE2.0";
  for (std::size_t size = 0; size <= start.size(); ++size)
    EXPECT_EQ(loop_count_of({reinterpret_cast<const std::uint8_t*>(start.data()), size}), std::nullopt);
}

}  // namespace
}  // namespace millrace::video
