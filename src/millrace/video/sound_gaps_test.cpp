// Sound with gaps and overlaps stays in step with the video in every container. Compares the time of each
// sample that the ffmpeg program plays from input and output.
#include "millrace/video/clipped_reader.h"
#include "millrace/video/video_testing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

// The sound rises by this much a second, so that each sample tells its time. Silence is 0.
constexpr float slope = 0.2F;

std::string rising_sound(int rate, double seconds) {
  return fmt::format("-f lavfi -i \"aevalsrc='0.1+{}*t':s={}:d={}\" ", slope, rate, seconds);
}

std::string rising_video(double seconds) {
  return fmt::format("-f lavfi -i testsrc2=s=32x32:r=25:d={} ", seconds);
}

// The samples at their places in time; 0 where there is no sound. Where two are, the first one counts.
std::vector<float> timeline(const std::string& path, int rate) {
  const std::string raw = output_of(fmt::format(
      "ffmpeg -v error -nostdin -i '{}' -map 0:a:0 -af pan='mono|c0=c0' -f f32le - </dev/null", path));
  std::vector<float> samples(raw.size() / sizeof(float));
  std::memcpy(samples.data(), raw.data(), samples.size() * sizeof(float));
  std::istringstream frames(output_of(fmt::format(
      "ffprobe -v error -select_streams a:0 -show_entries frame=pts_time,nb_samples -of csv=p=0 '{}'",
      path)));
  std::vector<float> line;
  std::size_t used = 0;
  for (std::string frame; std::getline(frames, frame);) {
    auto begin = static_cast<std::size_t>(std::max(0.0, std::round(std::stod(frame) * rate)));
    const std::size_t count = std::stoul(frame.substr(frame.find(',') + 1));
    // Some containers round times to milliseconds.
    const bool follows = std::abs(std::ssize(line) - static_cast<std::int64_t>(begin)) <= rate / 900 + 1;
    if (follows) begin = line.size();
    if (line.size() < begin + count) line.resize(begin + count);
    for (std::size_t i = 0; i < count && used < samples.size(); ++i, ++used)
      if (line[begin + i] == 0) line[begin + i] = samples[used];
  }
  return line;
}

// Copies the file as a run does, with unchanged frames, from `start` seconds on. Returns the content not
// kept.
std::vector<std::string> copy_in_step(const std::string& from, const std::string& to, double start = 0) {
  const auto side = make_side_streams(true);
  auto opened = open_reader(from, {.side_streams = side});
  EXPECT_TRUE(opened) << opened.error().message;
  if (!opened) return {};
  const auto reader = start > 0
                          ? clipped(*std::move(opened), {.start = std::llround(start * 1e6)}, side, from)
                          : *std::move(opened);
  auto writer = open_writer(to, reader->format(), {.overwrite = Overwrite::yes, .side_streams = side});
  EXPECT_TRUE(writer) << writer.error().message;
  if (!writer) return {};
  const Delivered delivered = read_all(*reader);
  EXPECT_FALSE(delivered.error) << delivered.error->message;
  for (const Frame& frame : delivered.frames)
    EXPECT_TRUE((*writer)->write(frame));
  EXPECT_TRUE((*writer)->finish());
  return (*writer)->not_kept();
}

class SoundGaps : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(SoundGaps, LeaveEachSampleAtItsTime) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [codec, suffix] = GetParam();
  const std::string_view name = codec;
  const bool coarse = name == "pcm_u8" || name == "pcm_s8" || name.ends_with("law");
  std::mt19937_64 random(name.size() * 100 + name.back());
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 1000) / 1000;
  };
  for (int round = 0; round < 3; ++round) {
    TemporaryFolder folder;
    const int rate = std::array{48000, 44100, 8000}.at(static_cast<std::size_t>(round));
    const double gap = between(0.3, 1);
    const double second = between(2, 2.5);
    // From `back` on, all sound comes earlier by less than a packet.
    const double back = between(3, 3.4);
    const double early = between(0.25, 0.9) * 1024 / rate;
    ASSERT_TRUE(ffmpeg(
        rising_video(4) + rising_sound(rate, 4) +
        fmt::format("-af \"aselect='not(between(t,{0},{1}))*not(between(t,{2},{3}))',"
                    "asetpts='PTS-gt(T,{4})*{5}/TB',aformat=channel_layouts={6}\" -c:v libx264 -preset "
                    "ultrafast -c:a {7} '{8}'",
                    gap, gap + between(0.1, 0.9), second, second + between(0.1, 0.4), back, early,
                    round == 1 ? "stereo" : "mono", codec, folder / "in.nut")));
    const std::string output = folder / (std::string("out") + suffix);
    const auto not_kept = copy_in_step(folder / "in.nut", output);
    if (!not_kept.empty() && not_kept.front().contains("cannot hold")) GTEST_SKIP() << not_kept.front();
    const std::vector<float> wanted = timeline(folder / "in.nut", rate);
    const std::vector<float> played = timeline(output, rate);
    ASSERT_GT(wanted.size(), rate * 3.5);
    EXPECT_NEAR(static_cast<double>(played.size()), static_cast<double>(wanted.size()), 0.011 * rate);
    // A difference below 10 ms is left alone.
    const float allowed = slope * 0.011F + (coarse ? 0.03F : 0.0005F);
    const auto reach = static_cast<std::size_t>(0.012 * rate);
    for (std::size_t i = reach; i + reach < std::min(wanted.size(), played.size()); ++i) {
      const bool at_edge = (wanted[i - reach] == 0) != (wanted[i + reach] == 0) || wanted[i] == 0;
      if (at_edge) continue;
      ASSERT_NEAR(played[i], wanted[i], allowed) << "round " << round << ", at " << i << " of " << rate;
    }
    if (std::string_view(suffix) == ".mov") {
      EXPECT_THAT(not_kept, ::testing::Contains(::testing::HasSubstr("filled with silence"))) << round;
    } else {
      EXPECT_THAT(not_kept, ::testing::IsEmpty());
    }
    // Silence is silent.
    for (std::size_t i = reach; i + reach < std::min(wanted.size(), played.size()); ++i)
      if (std::all_of(&wanted[i - reach], &wanted[i + reach], [](float each) { return each == 0; })) {
        ASSERT_LT(std::abs(played[i]), 0.001F) << "at " << i << " of " << rate;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Uncompressed, SoundGaps,
                         ::testing::Combine(::testing::Values("pcm_s16le", "pcm_s16be", "pcm_s24le",
                                                              "pcm_s32be", "pcm_f32le", "pcm_f64be", "pcm_u8",
                                                              "pcm_alaw", "pcm_mulaw"),
                                            ::testing::Values(".mov")),
                         [](const auto& test) { return std::string(std::get<0>(test.param)); });
INSTANTIATE_TEST_SUITE_P(Matroska, SoundGaps,
                         ::testing::Combine(::testing::Values("pcm_s16le"), ::testing::Values(".mkv")));

class CodedSoundGaps : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(CodedSoundGaps, LeaveTheLastPacketAtItsTime) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [codec, suffix] = GetParam();
  TemporaryFolder folder;
  ASSERT_TRUE(ffmpeg(rising_video(4) + rising_sound(48000, 4) + "-c:v libx264 -preset ultrafast -c:a " +
                     codec + " -strict -2 '" + (folder / "all.mkv") + "'"));
  // Without re-encoding, or the encoder would fill the gap.
  ASSERT_TRUE(ffmpeg("-i '" + (folder / "all.mkv") +
                     "' -c copy -bsf:a \"noise=drop='between(pts*tb,1,2.5)'\" '" + (folder / "in.mkv") +
                     "'"));
  const std::string output = folder / (std::string("out") + suffix);
  const auto not_kept = copy_in_step(folder / "in.mkv", output);
  if (!not_kept.empty() && not_kept.front().contains("cannot hold")) GTEST_SKIP() << not_kept.front();
  EXPECT_THAT(not_kept, ::testing::IsEmpty());
  const auto last = [](const std::string& path) {
    std::istringstream times(output_of(
        "ffprobe -v error -select_streams a:0 -show_entries packet=pts_time -of csv=p=0 '" + path + "'"));
    double last = -1;
    for (std::string time; std::getline(times, time);)
      if (!time.empty()) last = std::stod(time);  // a line of side data is empty
    return last;
  };
  EXPECT_NEAR(last(output), last(folder / "in.mkv"), 0.002);
}

INSTANTIATE_TEST_SUITE_P(Sound, CodedSoundGaps,
                         ::testing::Combine(::testing::Values("aac", "libmp3lame", "ac3", "alac", "flac",
                                                              "libopus", "libvorbis", "mp2"),
                                            ::testing::Values(".mov", ".mp4", ".mkv")),
                         [](const auto& test) {
                           return fmt::format("{}_to_{}", std::get<0>(test.param),
                                              std::string(std::get<1>(test.param)).substr(1));
                         });

// A packet of TrueHD lasts 0.8 ms, less than the unit of Matroska.
TEST(ShortPackets, KeepTheirTimesWhereSeveralFallIntoOneUnit) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  const auto times = [](const std::string& path) {
    return output_of("ffprobe -v error -select_streams a:0 -show_entries packet=pts -of csv=p=0 '" + path +
                     "'");
  };
  for (const char* name : {"in.mkv", "in.ts"}) {
    ASSERT_TRUE(ffmpeg(rising_video(2) + rising_sound(48000, 2) +
                       "-c:v libx264 -preset ultrafast -c:a truehd -strict -2 '" + (folder / name) + "'"));
    ASSERT_TRUE(ffmpeg("-copyts -i '" + (folder / name) + "' -c copy '" + (folder / "copied.mkv") + "'"));
    EXPECT_THAT(copy_in_step(folder / name, folder / "out.mkv"), ::testing::IsEmpty());
    EXPECT_EQ(times(folder / "out.mkv"), times(folder / "copied.mkv")) << name;
  }
}

// Of 16 packets of TrueHD, one can be decoded without those before.
TEST(ShortPackets, BeginWithOneThatCanBeDecodedWhereverTheStartIs) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  constexpr int rate = 48000;
  TemporaryFolder folder;
  ASSERT_TRUE(ffmpeg(rising_video(2) + rising_sound(rate, 2) +
                     "-c:v libx264 -preset ultrafast -c:a truehd -strict -2 '" + (folder / "in.mkv") + "'"));
  const std::vector<float> whole = timeline(folder / "in.mkv", rate);
  for (const char* name : {"out.mp4", "out.mkv"})
    for (const double start : {0.04, 0.2, 0.28, 0.48, 0.8, 1.4}) {
      SCOPED_TRACE(fmt::format("{} from {}", name, start));
      EXPECT_THAT(copy_in_step(folder / "in.mkv", folder / name, start), ::testing::IsEmpty());
      const std::vector<float> part = timeline(folder / name, rate);
      const auto moved = static_cast<std::size_t>(start * rate);
      ASSERT_NEAR(static_cast<double>(part.size()), static_cast<double>(whole.size() - moved), 0.002 * rate);
      for (std::size_t i = 700; i < part.size(); ++i)
        ASSERT_NEAR(part[i], whole[std::min(i + moved, whole.size() - 1)], slope * 0.002) << i;
    }
}

// Filling this gap would take 15 GiB.
TEST(SoundGap, OfManyGigabytesEndsTheSoundAndIsNamed) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  ASSERT_TRUE(ffmpeg(rising_video(1) + rising_sound(192000, 1) +
                     "-af \"asetpts='PTS+gt(T,0.5)*1300/TB',aformat=channel_layouts=7.1\" -c:v libx264 -c:a "
                     "pcm_f64le '" +
                     (folder / "in.mkv") + "'"));
  EXPECT_THAT(copy_in_step(folder / "in.mkv", folder / "out.mov"),
              ::testing::ElementsAre(::testing::HasSubstr(".mov cannot hold the gap of 1300.0")));
  EXPECT_LT(std::filesystem::file_size(folder / "out.mov"), std::uintmax_t{1} << 28);
  EXPECT_NEAR(static_cast<double>(timeline(folder / "out.mov", 192000).size()), 0.5 * 192000, 2048);
}

}  // namespace
}  // namespace millrace::video
