#include "millrace/base/file/output_file.h"
#include "millrace/video/codec_versions.h"
#include "millrace/video/video_testing.h"
#include "millrace/video/writer.h"
#include "millrace/video/y4m/y4m_writer.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <malloc.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace millrace::video {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace millrace::video::testing;

Frame one_frame(const std::string& source) { return **(*open_reader(source))->next(); }

// --- FFV1

class Lossless : public ::testing::TestWithParam<std::tuple<Layout, int, const char*>> {};

TEST_P(Lossless, MkvComesBackBitExact) {
  const auto& [layout, bits, size] = GetParam();
  TemporaryFolder folder;
  const Delivered original =
      read_all(fmt::format("test:{}@4,{}p{},fps=24{}", size, layout.name, bits, bits == 10 ? ",full" : ""));
  const Status written = write_all(folder / "a.mkv", original.frames, {.codec = VideoCodec::ffv1});
  if (!written && layout.chroma == Chroma::gray && bits == 14) {  // before FFmpeg 7
    EXPECT_EQ(written.error().kind, ErrorKind::usage);
    EXPECT_THAT(written.error().message, AllOf(HasSubstr("gray 14 bit"), HasSubstr(".y4m")));
    return;
  }
  ASSERT_TRUE(written) << written.error().message;
  auto reader = open_reader(folder / "a.mkv");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(without_time_base((*reader)->format()), original.frames[0].format());
  EXPECT_EQ((*reader)->frame_count_hint(), 4);
  const Delivered back = read_all(**reader);
  ASSERT_FALSE(back.error) << back.error->message;
  ASSERT_EQ(back.frames.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(same_samples(back.frames[i], original.frames[i]));
}

INSTANTIATE_TEST_SUITE_P(Formats, Lossless,
                         ::testing::Combine(::testing::ValuesIn(layouts),
                                            ::testing::Values(8, 9, 10, 12, 14, 16),
                                            ::testing::Values("2x2", "17x33", "355x9")),
                         [](const auto& test) {
                           return fmt::format("{}p{}_{}", std::get<0>(test.param).name,
                                              std::get<1>(test.param), std::get<2>(test.param));
                         });

// --- H.264

class H264 : public ::testing::TestWithParam<const char*> {};

TEST_P(H264, Mp4IsReadableWithAllFramesCloseToTheOriginal) {
  TemporaryFolder folder;
  const Delivered original = read_all(fmt::format("test:128x96@12,fps=30000/1001,{}", GetParam()));
  const Status written = write_all(folder / "a.mp4", original.frames);
  ASSERT_TRUE(written) << written.error().message;
  auto reader = open_reader(folder / "a.mp4");
  ASSERT_TRUE(reader) << reader.error().message;
  const FrameFormat& format = (*reader)->format();
  EXPECT_EQ(format.width, 128);
  EXPECT_EQ(format.height, 96);
  EXPECT_EQ(format.bits, original.frames[0].format().bits);
  EXPECT_EQ(format.rate_numerator, 30000);
  EXPECT_EQ(format.rate_denominator, 1001);
  EXPECT_EQ((*reader)->frame_count_hint(), 12);
  const Delivered back = read_all(**reader);
  ASSERT_FALSE(back.error) << back.error->message;
  ASSERT_EQ(back.frames.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(seconds_of(back.frames[i]), static_cast<double>(i) * 1001 / 30000, 1e-9);
    double squares = 0;
    for (int y = 0; y < 96; ++y)
      for (int x = 0; x < 128; ++x) {
        const auto at = [&](const Frame& frame) {
          return format.bits == 8 ? frame.plane(0).row<std::uint8_t>(y)[x] / 255.0
                                  : frame.plane(0).row<std::uint16_t>(y)[x] / 1023.0;
        };
        const double difference = at(back.frames[i]) - at(original.frames[i]);
        squares += difference * difference;
      }
    const double psnr = -10 * std::log10(squares / (128 * 96));
    EXPECT_GT(psnr, 35) << "frame " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, H264,
                         ::testing::Values("420", "422", "444", "gray", "420p10", "422p10", "444p10"));

// Fills freshly allocated memory with a value, to show reads of uninitialised memory. Sanitizers fill it as
// they like.
class FilledMemory {
 public:
  explicit FilledMemory(int byte) { mallopt(M_PERTURB, ~byte & 0xff); }
  FilledMemory(const FilledMemory&) = delete;
  FilledMemory& operator=(const FilledMemory&) = delete;
  ~FilledMemory() { mallopt(M_PERTURB, 0); }
};

class EncodedSize : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(EncodedSize, GivesTheSameBytesWhateverMemoryHeldBefore) {
  const auto [size, params] = GetParam();
  TemporaryFolder folder;
  const Delivered original = read_all(fmt::format("test:{}@20", size));
  WriterOptions options;
  if (*params != 0) options.encoder_options = {{"x264-params", params}};
  std::vector<std::vector<char>> files;
  for (const int byte : {0, 0x5a, 0xaa}) {
    const std::string path = folder / fmt::format("{}.mp4", byte);
    const FilledMemory filled(byte);
    ASSERT_TRUE(write_all(path, original.frames, options));
    files.push_back(file_bytes(path));
  }
  EXPECT_EQ(files[1], files[0]);
  EXPECT_EQ(files[2], files[0]);
}

INSTANTIATE_TEST_SUITE_P(H264, EncodedSize,
                         ::testing::Combine(::testing::Values("66x50", "176x144", "352x288", "256x128"),
                                            ::testing::Values("", "keyint=7:bframes=2")));

// Frames with these timestamps in this time base.
std::vector<Frame> timed_frames(const std::vector<std::int64_t>& times, int numerator, int denominator) {
  FrameFormat format = one_frame("test:64x48@1").format();
  format.time_base_numerator = numerator;
  format.time_base_denominator = denominator;
  std::vector<Frame> frames;
  for (const std::int64_t time : times) {
    Frame& frame = frames.emplace_back(format);
    for (int plane = 0; plane < 3; ++plane)
      std::memset(frame.plane(plane).data, static_cast<int>(frames.size()),
                  static_cast<std::size_t>(frame.plane(plane).stride) * frame.plane(plane).height);
    frame.timestamp = time;
  }
  return frames;
}

struct Times {
  const char* title;
  int numerator;
  int denominator;
  std::vector<std::int64_t> times;
};

class KeptTimes : public ::testing::TestWithParam<std::tuple<const char*, Times>> {};

TEST_P(KeptTimes, ComeBackAsTheyWere) {
  const auto& [name, times] = GetParam();
  TemporaryFolder folder;
  const Status written =
      write_all(folder / name, timed_frames(times.times, times.numerator, times.denominator),
                {.codec = std::string_view(name).starts_with("ffv1") ? VideoCodec::ffv1 : VideoCodec::h264});
  ASSERT_TRUE(written) << written.error().message;
  const Delivered back = read_all(folder / name);
  ASSERT_FALSE(back.error) << back.error->message;
  ASSERT_EQ(back.frames.size(), times.times.size());
  // Matroska stores milliseconds.
  const double within = std::string_view(name).ends_with(".mkv") ? 0.5001e-3 : 1e-9;
  for (std::size_t i = 0; i < times.times.size(); ++i) {
    const double expected = static_cast<double>(times.times[i]) * times.numerator / times.denominator;
    EXPECT_NEAR(seconds_of(back.frames[i]), expected, within) << "frame " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, KeptTimes,
    ::testing::Combine(
        ::testing::Values("h264.mp4", "h264.mkv", "ffv1.mkv"),
        ::testing::Values(
            Times{"variable", 1, 1000, {0, 40, 50, 200, 210, 1000}},
            Times{"gap_of_100_seconds", 1, 30000, {0, 1001, 2002, 3'000'000 + 3003, 3'000'000 + 4004}},
            Times{"gap_of_40_minutes", 1, 90000, {0, 3600, 90000LL * 2400, 90000LL * 2400 + 3600}},
            Times{"late_start", 1, 90000, {126'000, 129'600, 133'200, 136'800, 140'400, 144'000}},
            Times{"late_and_odd_start", 1001, 30000, {7, 8, 9, 10, 11, 12}},
            Times{"fine", 1, 10'000'000, {0, 400'000, 800'000, 2'200'000'000}})),
    [](const auto& test) {
      const std::string name = std::get<0>(test.param);
      return name.substr(0, 4) + "_" + name.substr(5) + "_" + std::get<1>(test.param).title;
    });

TEST(Writer, BeginsAtZeroWhereTimesBeginBeforeIt) {
  for (const char* name : {"a.mkv", "a.mp4"}) {
    TemporaryFolder folder;
    ASSERT_TRUE(write_all(folder / name, timed_frames({-80, -40, 0, 40, 90}, 1, 1000)));
    const Delivered back = read_all(folder / name);
    std::vector<double> seconds;
    for (const Frame& frame : back.frames)
      seconds.push_back(seconds_of(frame));
    EXPECT_THAT(seconds, ::testing::Pointwise(::testing::DoubleNear(1e-9), {0.0, 0.04, 0.08, 0.12, 0.17}))
        << name;
  }
}

TEST(Writer, SaysWhereMp4CannotHoldAGap) {
  TemporaryFolder folder;
  const Status written = write_all(folder / "a.mp4", timed_frames({0, 40'000, 3'000'000'000}, 1, 1'000'000));
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, AllOf(HasSubstr("gap of 3000 seconds"), HasSubstr(".mkv")));
}

TEST(Writer, GoesOnInTimeWhenTimesRunBackwards) {
  TemporaryFolder folder;
  ASSERT_TRUE(
      write_all(folder / "a.mkv", timed_frames({0, 40, 80, 120, 0, 40, 80, 120, 0, 40, 80, 120}, 1, 1000)));
  const Delivered back = read_all(folder / "a.mkv");
  ASSERT_EQ(back.frames.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(seconds_of(back.frames[i]), static_cast<double>(i) * 0.04, 1e-9);
}

TEST(Y4mWriter, SaysWhatItCannotKeep) {
  TemporaryFolder folder;
  const auto words_for = [&](const std::vector<Frame>& frames) {
    auto writer = open_writer(folder / "a.y4m", frames.front().format(), {.overwrite = Overwrite::yes});
    EXPECT_TRUE(writer);
    for (const Frame& frame : frames)
      EXPECT_TRUE((*writer)->write(frame));
    return (*writer)->not_kept();
  };
  EXPECT_THAT(words_for(timed_frames({0, 40, 80, 120}, 1, 1000)), ::testing::IsEmpty());
  EXPECT_THAT(words_for(timed_frames({0, 40, 80, 420}, 1, 1000)), ::testing::ElementsAre("frame times"));
  EXPECT_THAT(words_for(timed_frames({1400, 1440, 1480}, 1, 1000)), ::testing::ElementsAre("frame times"));
  FrameFormat tagged{.width = 2, .height = 2};
  tagged.color_matrix = 6;
  std::vector<Frame> frames;
  frames.emplace_back(tagged);
  EXPECT_THAT(words_for(frames), ::testing::ElementsAre(HasSubstr("matrix")));
  FrameFormat sited{.width = 2, .height = 2};
  sited.chroma_location = 1;
  for (const int bits : {8, 10}) {  // y4m has a name for it only at 8 bits
    sited.bits = bits;
    std::vector<Frame> one;
    one.emplace_back(sited);
    if (bits == 8)
      EXPECT_THAT(words_for(one), ::testing::IsEmpty());
    else
      EXPECT_THAT(words_for(one), ::testing::ElementsAre("place of chroma samples"));
  }
}

TEST(Writer, CarriesColorAndSampleShape) {
  TemporaryFolder folder;
  FrameFormat format{.width = 64, .height = 48};
  format.range = ColorRange::full;
  format.chroma_location = 1;
  format.aspect_numerator = 16;
  format.aspect_denominator = 11;
  format.color_primaries = format.color_transfer = format.color_matrix = 1;  // BT.709
  for (const char* name : {"a.mkv", "a.mp4"}) {
    std::vector<Frame> frames;
    frames.emplace_back(format);
    for (int plane = 0; plane < 3; ++plane)
      std::memset(frames[0].plane(plane).data, 99,
                  static_cast<std::size_t>(frames[0].plane(plane).stride) * frames[0].plane(plane).height);
    ASSERT_TRUE(write_all(folder / name, frames));
    const auto reader = open_reader(folder / name);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(without_time_base((*reader)->format()), format) << name;
  }
}

// --- names and combinations

struct Refused {
  const char* title;
  const char* output;  // '@' is replaced by a folder
  const char* source;
  VideoCodec codec;
  const char* says;
};

class RefusedOutput : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedOutput, IsAUsageErrorThatNamesTheWayOutAndLeavesNothing) {
  TemporaryFolder folder;
  std::string output = GetParam().output;
  if (output.starts_with('@')) output = folder / output.substr(1);
  const auto writer = open_writer(output, one_frame(GetParam().source).format(), {.codec = GetParam().codec});
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().kind, ErrorKind::usage);
  EXPECT_THAT(writer.error().message, AllOf(HasSubstr(GetParam().says), Not(HasSubstr("\n"))));
  EXPECT_EQ(folder.entries(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Outputs, RefusedOutput,
    ::testing::Values(
        Refused{"avi", "@a.avi", "test:64x48@1", VideoCodec::automatic, "that ends in .mp4, .mkv,"},
        Refused{"no_extension", "@a", "test:64x48@1", VideoCodec::automatic, "that ends in .mp4, .mkv,"},
        Refused{"no_name", "", "test:64x48@1", VideoCodec::automatic, "that ends in .mp4, .mkv,"},
        Refused{"no_folder", "@no/a.mkv", "test:64x48@1", VideoCodec::automatic, "no folder"},
        Refused{"deep_h264", "@a.mp4", "test:64x48@1,420p16", VideoCodec::automatic, ".mkv with FFV1"},
        Refused{"odd_h264", "@a.mp4", "test:63x48@1", VideoCodec::automatic, ".mkv with FFV1"},
        Refused{"odd_h264_in_mkv", "@a.mkv", "test:64x47@1", VideoCodec::h264, ".mkv with FFV1"},
        Refused{"ffv1_in_mp4", "@a.mp4", "test:64x48@1", VideoCodec::ffv1, "use .mkv"},
        Refused{"single_sample", "@a.mkv", "test:1x1@1", VideoCodec::automatic, ".y4m"},
        Refused{"thin", "@a.mkv", "test:400x7@1", VideoCodec::automatic, ".y4m"},
        Refused{"codec_for_y4m", "@a.y4m", "test:64x48@1", VideoCodec::h264, "no codec"},
        Refused{"unusual_depth", "@a.mkv", "test:64x48@1,420p11", VideoCodec::automatic, ".y4m"}),
    [](const auto& test) { return std::string(test.param.title); });

// Tests the formats that readers give, whichever encoders this machine has.
class UsualCodec : public ::testing::TestWithParam<std::tuple<Layout, int, const char*>> {};

TEST_P(UsualCodec, OfMkvIsH264AndWhereThatCannotBeFfv1WhichIsSaid) {
  const auto& [layout, bits, size] = GetParam();
  TemporaryFolder folder;
  const Frame frame = one_frame(fmt::format("test:{}@1,{}p{}", size, layout.name, bits));
  const bool h264 = open_writer(folder / "a.mkv", frame.format(), {.codec = VideoCodec::h264}).has_value();
  const bool ffv1 = open_writer(folder / "a.mkv", frame.format(), {.codec = VideoCodec::ffv1}).has_value();
  const auto checked = check_writer(folder / "a.mkv", frame.format(), {});
  auto writer = open_writer(folder / "a.mkv", frame.format());
  ASSERT_EQ(writer.has_value(), h264 || ffv1);
  ASSERT_EQ(checked.has_value(), h264 || ffv1);
  if (!writer) return;
  ASSERT_TRUE((*writer)->write(frame));
  ASSERT_TRUE((*writer)->finish());
  const WrittenAs written = (*writer)->written_as();
  EXPECT_EQ(written.codec, h264 ? "h264" : "ffv1");
  EXPECT_EQ(written.codec, checked->codec);
  EXPECT_EQ(written.bytes, std::filesystem::file_size(folder / "a.mkv"));
  EXPECT_EQ(written.fallback.empty(), h264);
  EXPECT_TRUE(h264 || bits > 8 || std::string_view(size) != "64x48") << "no file would be small";
  if (h264) return;
  EXPECT_THAT(written.fallback, AllOf(HasSubstr("a.mkv: H.264"), HasSubstr("encoded with FFV1 (lossless)"),
                                      Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(Formats, UsualCodec,
                         ::testing::Combine(::testing::ValuesIn(layouts),
                                            ::testing::Values(8, 10, 12, 14, 16),
                                            ::testing::Values("64x48", "2x2", "63x47", "17x33", "2x1")),
                         [](const auto& test) {
                           return fmt::format("{}p{}_{}", std::get<0>(test.param).name,
                                              std::get<1>(test.param), std::get<2>(test.param));
                         });

// FFV1 lacks these options. The error must name the option, and no other codec may be chosen.
TEST(Writer, ChoosesNoOtherCodecWhereTheUserSaidHowToEncode) {
  TemporaryFolder folder;
  const FrameFormat deep = one_frame("test:64x48@1,420p16").format();
  EXPECT_EQ(check_writer(folder / "a.mkv", deep, {})->codec, "ffv1");
  const std::array<WriterOptions, 4> asked{{{.codec = VideoCodec::h264},
                                            {.crf = 20},
                                            {.preset = "slow"},
                                            {.encoder_options = {{"tune", "film"}}}}};
  for (const WriterOptions& options : asked) {
    const auto checked = check_writer(folder / "a.mkv", deep, options);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message, HasSubstr("H.264 cannot take"));
  }
}

// One level below FFmpeg's own options, where FFmpeg only warns.
class NestedOption : public ::testing::TestWithParam<std::tuple<VideoCodec, const char*, const char*>> {};

TEST_P(NestedOption, ThatTheEncoderWouldIgnoreIsRefused) {
  const auto& [codec, params, words] = GetParam();
  TemporaryFolder folder;
  const FrameFormat format = one_frame("test:64x48@1").format();
  const auto writer =
      open_writer(folder / "a.mkv", format, {.codec = codec, .encoder_options = {{params, words}}});
  ASSERT_FALSE(writer) << words;
  EXPECT_EQ(writer.error().kind, ErrorKind::usage);
  EXPECT_EQ(std::ranges::count(writer.error().message, '\n'), 0);
  EXPECT_TRUE(
      open_writer(folder / "a.mkv", format, {.codec = codec, .encoder_options = {{params, "keyint=5"}}}));
}

INSTANTIATE_TEST_SUITE_P(Writer, NestedOption,
                         ::testing::Combine(::testing::Values(VideoCodec::h264),
                                            ::testing::Values("x264-params", "x264opts"),
                                            ::testing::Values("nope=3", "keyint=abc", "keyint=5:nope=1")));
INSTANTIATE_TEST_SUITE_P(H265, NestedOption,
                         ::testing::Combine(::testing::Values(VideoCodec::h265),
                                            ::testing::Values("x265-params"),
                                            ::testing::Values("nope=3", "keyint=abc", "keyint=5:nope=1")));

TEST(Writer, RefusesSizesThatItsEncoderCannotHold) {
  TemporaryFolder folder;
  for (const char* name : {"a.mp4", "a.webm"})
    for (const auto& [width, height] : {std::pair(16386, 2), std::pair(32768, 2), std::pair(2, 16386)}) {
      const auto checked = check_writer(folder / name, {.width = width, .height = height}, {});
      ASSERT_FALSE(checked) << name;
      EXPECT_EQ(checked.error().kind, ErrorKind::usage);
      EXPECT_THAT(checked.error().message, HasSubstr("16384 samples a side are the most"));
    }
}

TEST(Writer, TellsHowManyBytesItHasWritten) {
  TemporaryFolder folder;
  const Delivered original = read_all("test:64x48@5");
  for (const char* name : {"a.mkv", "a.mp4", "a.mov", "a.y4m", "a.gif", "a.yuv"}) {
    auto writer = open_writer(folder / name, original.frames[0].format());
    ASSERT_TRUE(writer) << name;
    for (const Frame& frame : original.frames)
      ASSERT_TRUE((*writer)->write(frame));
    ASSERT_TRUE((*writer)->finish());
    EXPECT_EQ((*writer)->written_as().bytes, std::filesystem::file_size(folder / name)) << name;
  }
  auto pictures = open_writer(folder / "a%02d.png", original.frames[0].format());
  ASSERT_TRUE(pictures);
  std::uintmax_t bytes = 0;
  for (std::size_t i = 0; i < original.frames.size(); ++i) {
    ASSERT_TRUE((*pictures)->write(original.frames[i]));
    bytes += std::filesystem::file_size(folder / fmt::format("a{:02}.png", i + 1));
  }
  EXPECT_EQ((*pictures)->written_as().bytes, bytes);
  EXPECT_EQ((*pictures)->written_as().codec, "png");
}

// Opening the pipe first would wait for a reader.
TEST(Writer, RefusesAPipeThatItsContainerCannotBeWrittenTo) {
  const TemporaryFolder folder;
  for (const std::string name : {"a.mp4", "a.mov"}) {
    ASSERT_EQ(mkfifo((folder / name).c_str(), 0600), 0);
    const auto writer = open_writer(folder / name, {.width = 64, .height = 48});
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().kind, ErrorKind::usage);
    EXPECT_THAT(writer.error().message, HasSubstr("cannot be written to a pipe or device; use .mkv"));
    EXPECT_FALSE(check_writer(folder / name, {.width = 64, .height = 48}, {}));
  }
}

TEST(Writer, RefusesADirectory) {
  TemporaryFolder folder;
  ASSERT_EQ(mkdir((folder / "a.mkv").c_str(), 0700), 0);
  const auto writer = open_writer(folder / "a.mkv", {.width = 64, .height = 48});
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("directory"));
}

TEST(Writer, RefusesAFrameOfAnotherFormat) {
  TemporaryFolder folder;
  for (const char* name : {"a.mkv", "a.y4m"}) {
    auto writer = open_writer(folder / name, {.width = 64, .height = 48});
    ASSERT_TRUE(writer);
    const Status written = (*writer)->write(one_frame("test:32x48@1"));
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, AllOf(HasSubstr("32x48"), HasSubstr("64x48")));
  }
}

// --- files

class FileOutput : public ::testing::TestWithParam<const char*> {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_ / GetParam();
  Frame frame_ = one_frame("test:64x48@1");
};

TEST_P(FileOutput, AppearsUnderItsNameOnlyWhenFinished) {
  write_file(path_, {'o', 'l', 'd'});
  auto writer = open_writer(path_, frame_.format(), {.overwrite = Overwrite::yes});
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE((*writer)->write(frame_));
  EXPECT_EQ(file_bytes(path_).size(), 3U);
  ASSERT_TRUE((*writer)->finish());
  EXPECT_EQ((*writer)->frames_written(), 1);
  EXPECT_EQ(folder_.entries(), 1U);
  EXPECT_EQ(read_all(path_).frames.size(), 1U);
}

TEST_P(FileOutput, LeavesNothingWithoutFinish) {
  {
    auto writer = open_writer(path_, frame_.format());
    ASSERT_TRUE(writer && (*writer)->write(frame_));
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
  EXPECT_EQ(folder_.entries(), 0U);
}

TEST_P(FileOutput, ThatExistsIsKeptUnlessItMayBeReplaced) {
  write_file(path_, {'o', 'l', 'd'});
  const auto writer = open_writer(path_, frame_.format());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().kind, ErrorKind::usage);
  EXPECT_THAT(writer.error().message, HasSubstr("exists"));
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(FileOutput, ThatAppearsMeanwhileIsKeptToo) {
  auto writer = open_writer(path_, frame_.format());
  ASSERT_TRUE(writer && (*writer)->write(frame_));
  write_file(path_, {'n', 'e', 'w'});
  EXPECT_FALSE((*writer)->finish());
  EXPECT_EQ(file_bytes(path_).size(), 3U);
}

TEST_P(FileOutput, ReplacesWhatALinkPointsTo) {
  write_file(folder_ / "real", {'o', 'l', 'd'});
  ASSERT_EQ(symlink((folder_ / "real").c_str(), path_.c_str()), 0);
  ASSERT_EQ(chmod((folder_ / "real").c_str(), 0640), 0);
  std::vector<Frame> frames;
  frames.push_back(frame_.clone());
  ASSERT_TRUE(write_all(path_, frames));
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_GT(file_bytes(folder_ / "real").size(), 3U);
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(folder_ / "real").permissions()), 0640U);
}

TEST_P(FileOutput, OnAFullDeviceIsAnErrorOfOneLine) {
  if (path_.ends_with(".mp4")) GTEST_SKIP() << ".mp4 is not written to devices";
  ASSERT_EQ(symlink("/dev/full", path_.c_str()), 0);
  Status status;
  auto writer = open_writer(path_, frame_.format());
  if (writer) {
    for (int i = 0; i < 100 && status; ++i)
      status = (*writer)->write(frame_);
    const Status again = status ? Status{} : (*writer)->write(frame_);
    EXPECT_TRUE(status || !again);
    const Status finished = (*writer)->finish();
    status = status ? finished : status;
  } else {
    status = std::unexpected(writer.error());
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::failure);
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("no space left"), HasSubstr(path_), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(Formats, FileOutput, ::testing::Values("a.y4m", "a.mkv", "a.mp4"),
                         [](const auto& test) { return std::string(test.param).substr(2); });

// Limits file sizes during its lifetime. To a program this looks like a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    before_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_{};
  void (*before_handler_)(int) = nullptr;
};

TEST(Writer, LeavesNothingOfWhatCannotBeWrittenToItsEndWhereNoPartIsWanted) {
  TemporaryFolder folder;
  const auto gap = timed_frames({0, 40'000, 30'000'000'000}, 1, 1'000'000);
  const auto leaves = [&](const std::string& name, bool keep_part) {
    std::filesystem::remove(folder / name);
    WriterOptions options{.keep_part = keep_part};
    if (name == "a.mp4") options.encoder_options = {{"tune", "zerolatency"}};  // each frame is output at once
    auto writer = open_writer(folder / name, gap.front().format(), options);
    EXPECT_TRUE(writer);
    const FileSizeLimit limit(name == "a.y4m" ? 2 * packed_bytes(gap.front().format()) : RLIM_INFINITY);
    Status written;
    for (const Frame& frame : gap)
      if (written) written = (*writer)->write(frame);
    EXPECT_FALSE(written);
    EXPECT_EQ((*writer)->finish().has_value(), keep_part);
    writer->reset();
    return std::filesystem::exists(folder / name);
  };
  for (const std::string name : {"a.mp4", "a.y4m"}) {
    EXPECT_FALSE(leaves(name, false)) << name;
    EXPECT_TRUE(leaves(name, true)) << name;
  }
}

TEST(Y4mWriter, KeepsTheFileThatIsThereWhereNoWholeFrameCanBeWritten) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.y4m";
  std::ofstream(path) << "precious";
  const Frame frame = one_frame("test:64x48@1");
  {
    auto writer = open_writer(path, frame.format(), {.overwrite = Overwrite::yes, .keep_part = true});
    ASSERT_TRUE(writer);
    const FileSizeLimit limit(1000);
    ASSERT_FALSE((*writer)->write(frame));
    EXPECT_FALSE((*writer)->finish());
  }
  std::ifstream there(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(there), {}), "precious");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(Y4mWriter, KeepsTheWholeFramesOfADiskThatFills) {
  TemporaryFolder folder;
  const std::string path = folder / "a.y4m";
  const Delivered original = read_all("test:64x48@10");
  auto writer = open_writer(path, original.frames[0].format());
  ASSERT_TRUE(writer);
  {
    const FileSizeLimit limit(20'000);  // four frames of 4608 bytes and part of the fifth
    Status status;
    std::size_t written = 0;
    while (status && written < 10) {
      status = (*writer)->write(original.frames[written]);
      written += status ? 1 : 0;
    }
    ASSERT_FALSE(status);
    EXPECT_EQ(written, 4U);
    EXPECT_EQ((*writer)->frames_written(), 4);
  }
  ASSERT_TRUE((*writer)->finish());
  const Delivered back = read_all(path);
  EXPECT_FALSE(back.error);
  ASSERT_EQ(back.frames.size(), 4U);
  EXPECT_TRUE(same_samples(back.frames[3], original.frames[3]));
}

// --- pipes

TEST(Y4mWriter, ReportsAReaderThatWentAwayWithoutASignal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Frame frame = one_frame("test:64x48@1");
  auto writer =
      open_y4m_writer(std::make_unique<OutputFile>(Descriptor::owned(ends[1]), "the pipe"), frame.format());
  ASSERT_TRUE(writer);
  close(ends[0]);
  const Status written = (*writer)->write(frame);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, AllOf(HasSubstr("the pipe"), HasSubstr("has ended")));
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(Y4mWriter, EndsItsWaitForAPipeWhenCancelled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Frame frame = one_frame("test:1920x1080@1");  // exceeds a pipe's capacity
  auto writer =
      open_y4m_writer(std::make_unique<OutputFile>(Descriptor::owned(ends[1]), "the pipe"), frame.format());
  ASSERT_TRUE(writer);
  std::thread canceller([&] { (*writer)->cancel(); });
  const Status written = (*writer)->write(frame);
  canceller.join();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::interrupted);
  close(ends[0]);
}

TEST(Y4mWriter, PassesWholeFramesThroughAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Delivered original = read_all("test:320x240@5,422p10");
  Status status;
  std::thread producer([&] {
    auto writer = open_y4m_writer(std::make_unique<OutputFile>(Descriptor::owned(ends[1]), "the pipe"),
                                  original.frames[0].format());
    for (const Frame& frame : original.frames)
      if (status) status = (*writer)->write(frame);
  });
  const Delivered back = read_all(fmt::format("/dev/fd/{}", ends[0]) + "");
  close(ends[0]);
  producer.join();
  EXPECT_TRUE(status);
  // Without the suffix .y4m, FFmpeg's parser reads it: an independent check.
  ASSERT_FALSE(back.error) << back.error->message;
  ASSERT_EQ(back.frames.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_TRUE(same_samples(back.frames[i], original.frames[i]));
}

TEST(NullWriter, CountsFrames) {
  auto writer = open_writer("null", {.width = 64, .height = 48});
  ASSERT_TRUE(writer);
  for (int i = 0; i < 7; ++i)
    ASSERT_TRUE((*writer)->write(one_frame("test:64x48@1")));
  ASSERT_TRUE((*writer)->finish());
  EXPECT_EQ((*writer)->frames_written(), 7);
}

TEST(CodecVersions, NameWhatMakesAFileWhatItIs) {
  const std::string versions = codec_versions();
  EXPECT_THAT(versions, ::testing::HasSubstr("FFmpeg "));
  EXPECT_THAT(versions, ::testing::ContainsRegex("libavcodec [0-9]+\\.[0-9]+\\.[0-9]+, "));
  EXPECT_THAT(versions, ::testing::ContainsRegex("libx264\\.so\\.[0-9]+ [0-9a-f]+"));
  EXPECT_EQ(versions.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace millrace::video
