// Sound that a file has only from some place on is copied too.
#include "millrace/base/testing/scoped_variable_testing.h"
#include "millrace/video/video_testing.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

// The packets of a transport stream are numbered, by 16, in each of its parts: as if they were of one file.
void number_on(std::vector<char>& stream) {
  constexpr std::size_t packet = 188;
  std::map<int, unsigned> last;
  for (std::size_t at = 0; at + packet <= stream.size(); at += packet) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(stream[at + i]); };
    const bool has_content = (byte(3) & 0x10U) != 0;
    if (!has_content) continue;
    const int part = (byte(1) & 0x1f) << 8 | byte(2);
    const auto known = last.find(part);
    const unsigned number = known == last.end() ? byte(3) & 0xfU : (known->second + 1) & 0xfU;
    last[part] = number;
    stream[at + 3] = static_cast<char>((byte(3) & 0xf0U) | number);
  }
}

TEST(LateSound, IsKeptWhenTheListOfStreamsChangesInTheMiddle) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  const std::string video = "-f lavfi -i testsrc2=s=32x32:r=25:d=2 ";
  const std::string codec = "-c:v libx264 -preset ultrafast ";
  ASSERT_TRUE(ffmpeg(video + codec + "'" + (folder / "mute.ts") + "'"));
  ASSERT_TRUE(ffmpeg(video + "-f lavfi -i sine=r=48000:d=2 " + codec + "-c:a aac -output_ts_offset 2 '" +
                     (folder / "loud.ts") + "'"));
  std::vector<char> joined = file_bytes(folder / "mute.ts");
  const std::vector<char> rest = file_bytes(folder / "loud.ts");
  joined.insert(joined.end(), rest.begin(), rest.end());
  number_on(joined);
  write_file(folder / "in.ts", joined);

  const auto side = make_side_streams(true);
  auto reader = open_reader(folder / "in.ts", {.side_streams = side});
  ASSERT_TRUE(reader) << reader.error().message;
  auto writer = open_writer(folder / "out.mkv", (*reader)->format(), {.side_streams = side});
  ASSERT_TRUE(writer) << writer.error().message;
  const Delivered delivered = read_all(**reader);
  EXPECT_FALSE(delivered.error) << delivered.error->message;
  for (const Frame& frame : delivered.frames)
    ASSERT_TRUE((*writer)->write(frame));
  ASSERT_TRUE((*writer)->finish());
  EXPECT_THAT((*writer)->not_kept(), ::testing::IsEmpty());

  const std::string samples = output_of(fmt::format(
      "ffmpeg -v error -nostdin -i '{}' -map 0:a:0 -ac 1 -f s16le - </dev/null", folder / "out.mkv"));
  EXPECT_GT(samples.size() / 2, 48000 * 19 / 10);
}

// It has to wait for the first frame, in a temporary file if there is much of it.
TEST(EarlySound, IsReportedIfItCannotWait) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  ASSERT_TRUE(ffmpeg("-itsoffset 5 -f lavfi -i testsrc2=s=32x32:r=25:d=0.2 -f lavfi -i "
                     "anoisesrc=r=192000:d=5,aformat=channel_layouts=7.1 -c:v libx264 -preset ultrafast -c:a "
                     "pcm_s32le '" +
                     (folder / "in.mkv") + "'"));
  const std::string missing = folder / "missing";
  const ScopedVariable variable("TMPDIR", missing);
  for (const std::string& beside : {folder / "out.mkv", missing + "/out.mkv"}) {
    const auto side = make_side_streams(true, {}, beside);
    auto reader = open_reader(folder / "in.mkv", {.side_streams = side});
    ASSERT_TRUE(reader) << reader.error().message;
    auto writer = open_writer(folder / "out.mkv", (*reader)->format(),
                              {.overwrite = Overwrite::yes, .side_streams = side});
    ASSERT_TRUE(writer) << writer.error().message;
    const Delivered delivered = read_all(**reader);
    EXPECT_FALSE(delivered.error) << delivered.error->message;
    for (const Frame& frame : delivered.frames)
      ASSERT_TRUE((*writer)->write(frame));
    ASSERT_TRUE((*writer)->finish());
    if (beside.starts_with(missing))
      EXPECT_THAT((*writer)->not_kept(), ::testing::ElementsAre(::testing::HasSubstr(missing)));
    else
      EXPECT_THAT((*writer)->not_kept(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace millrace::video
