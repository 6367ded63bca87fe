#include "millrace/video/reader.h"
#include "millrace/video/video_testing.h"

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::video {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace millrace::video::testing;

// FNV-1a over the packed samples of a frame.
std::uint64_t checksum(const Frame& frame, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView plane = frame.plane(index);
    const int bytes = plane.width * bytes_per_sample(frame.format());
    for (int y = 0; y < plane.height; ++y)
      for (int x = 0; x < bytes; ++x)
        hash = (hash ^ plane.row<std::uint8_t>(y)[x]) * 0x100000001b3U;
  }
  return hash;
}

struct Clip {
  const char* name;
  int width;
  int height;
  std::size_t frames;
  bool full_range;
};

class RealClip : public ::testing::TestWithParam<Clip> {};

TEST_P(RealClip, DeliversEveryFrameInOrderAndBitExact) {
  const std::string path = clip(GetParam().name);
  MILLRACE_REQUIRE_CLIP(path);
  auto reader = open_reader(path);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->format().width, GetParam().width);
  EXPECT_EQ((*reader)->format().height, GetParam().height);
  EXPECT_EQ((*reader)->format().range == ColorRange::full, GetParam().full_range);
  // Reference: the same clip decoded by FFmpeg's program and read by our y4m parser.
  const bool compare = have_program("ffmpeg");
  TemporaryFolder folder;
  const std::string fifo = folder / "reference.y4m";
  std::unique_ptr<FrameReader> reference;
  if (compare) {
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    // vsync passthrough: one output frame per input frame.
    ASSERT_EQ(std::system(("ffmpeg -v error -y -i '" + path +
                           "' -fps_mode passthrough -threads 1 -f yuv4mpegpipe '" + fifo +
                           "' </dev/null 2>/dev/null &")
                              .c_str()),
              0);
    auto opened = open_reader(fifo);
    ASSERT_TRUE(opened) << opened.error().message;
    reference = *std::move(opened);
  }
  std::size_t frames = 0;
  for (;;) {
    auto frame = (*reader)->next();
    ASSERT_TRUE(frame) << frame.error().message;
    if (compare) {
      auto expected = reference->next();
      ASSERT_TRUE(expected) << expected.error().message;
      ASSERT_EQ(frame->has_value(), expected->has_value()) << "after " << frames << " frames";
      if (*frame) {
        ASSERT_TRUE(same_samples(**frame, **expected));
      }
    }
    if (!*frame) break;
    EXPECT_EQ((*frame)->index, static_cast<std::int64_t>(frames));
    ++frames;
  }
  EXPECT_EQ(frames, GetParam().frames);
}

INSTANTIATE_TEST_SUITE_P(
    Clips, RealClip,
    ::testing::Values(Clip{"foreman_cif.264", 352, 288, 300, false},
                      Clip{"flower_720p.264", 1280, 720, 300, false},
                      Clip{"street_1080p.264", 1920, 1080, 54, true}),
    [](const auto& test) {
      return std::string(test.param.name).substr(0, std::string(test.param.name).find('.'));
    });

TEST(Reader, GivesTheSameFramesWithAnyNumberOfDecoderThreads) {
  const std::string path = clip("foreman_cif.264");
  MILLRACE_REQUIRE_CLIP(path);
  auto one = open_reader(path, {.decoder_threads = 1});
  auto three = open_reader(path, {.decoder_threads = 3});
  ASSERT_TRUE(one && three);
  for (int index = 0; index < 300; ++index) {
    auto a = (*one)->next();
    auto b = (*three)->next();
    ASSERT_TRUE(a && b && *a && *b) << index;
    ASSERT_EQ(checksum(**a), checksum(**b)) << index;
  }
}

// FFmpeg's versions disagree about raw bitstreams: the demuxers of some versions invent times from an assumed
// frame rate.
class BareVideo : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BareVideo, HasTheRateThatItSaysAndNoTimes) {
  const auto& [encoder, name] = GetParam();
  TemporaryFolder folder;
  if (std::system(fmt::format("ffmpeg -v error -encoders | grep -q {}", encoder).c_str()) != 0)
    GTEST_SKIP() << "FFmpeg has no " << encoder;
  for (const auto& [rate, numerator, denominator, frames] :
       {std::tuple("24000/1001", 24000, 1001, 12U), std::tuple("50", 50, 1, 25U)}) {
    const std::string path = folder / name;
    ASSERT_EQ(std::system(fmt::format("ffmpeg -v error -y -f lavfi -i testsrc2=s=64x48:d=0.5:r={} -pix_fmt "
                                      "yuv420p -c:v {} '{}' 2>'{}'",
                                      rate, encoder, path, folder / "said")
                              .c_str()),
              0);
    auto reader = open_reader(path);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_FALSE((*reader)->format().has_timestamps());
    EXPECT_EQ((*reader)->format().rate_numerator, numerator);
    EXPECT_EQ((*reader)->format().rate_denominator, denominator);
    EXPECT_EQ(read_all(path).frames.size(), frames);
    // The reference is ffprobe.
    const std::string order = output_of(
        fmt::format("ffprobe -v error -show_entries stream=field_order -of default=nk=1:nw=1 '{}'", path));
    EXPECT_EQ((*reader)->format().field_order,
              order == "progressive\n" ? FieldOrder::progressive : FieldOrder::unspecified)
        << order;
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, BareVideo,
                         ::testing::Values(std::pair("libx264", "a.264"), std::pair("libx265", "a.hevc")),
                         [](const auto& test) { return std::string(test.param.first); });

TEST(Reader, ExpectsNothingMoreOfAFileThatHasGrownSinceItWasOpened) {
  const std::string path = clip("foreman_cif.264");
  MILLRACE_REQUIRE_CLIP(path);
  TemporaryFolder folder;
  const std::string growing = folder / "growing.264";
  const std::vector<char> bytes = file_bytes(path);
  const auto half = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2);
  write_file(growing, {bytes.begin(), half});
  auto reader = open_reader(growing, {.decoder_threads = 1});
  ASSERT_TRUE(reader);
  std::ofstream(growing, std::ios::binary | std::ios::app).write(&*half, bytes.end() - half);
  int read = 0;
  bool known = true;
  for (auto frame = (*reader)->next(); frame && *frame; frame = (*reader)->next(), ++read)
    known = (*reader)->frames_expected().has_value();
  EXPECT_EQ(read, 300);
  EXPECT_FALSE(known);
}

TEST(Reader, ExpectsOfBareVideoWhatTheFileHoldsByWhatWasReadOfIt) {
  for (const auto& [name, frames] : {std::pair("foreman_cif.264", 300), std::pair("street_1080p.264", 54)}) {
    const std::string path = clip(name);
    MILLRACE_REQUIRE_CLIP(path);
    auto reader = open_reader(path, {.decoder_threads = 1});
    ASSERT_TRUE(reader);
    EXPECT_FALSE((*reader)->frame_count_hint()) << "nothing in it says so";
    int read = 0;
    for (auto frame = (*reader)->next(); frame && *frame; frame = (*reader)->next()) {
      const auto expected = (*reader)->frames_expected();
      ASSERT_TRUE(expected) << name << ", frame " << read;
      EXPECT_GT(*expected, read);
      // The first frame is larger than the others.
      EXPECT_GT(*expected, read < frames / 4 ? frames / 10 : frames / 2);
      EXPECT_LT(*expected, 3 * frames);
      ++read;
    }
    EXPECT_EQ(read, frames);
    EXPECT_EQ((*reader)->frames_expected(), frames);
  }
}

TEST(Reader, ExpectsNothingOfBareVideoThroughAPipe) {
  const std::string path = clip("foreman_cif.264");
  MILLRACE_REQUIRE_CLIP(path);
  TemporaryFolder folder;
  const std::string pipe = folder / "pipe.264";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // A separate process, because it may be killed when this one stops reading.
  ASSERT_EQ(std::system(fmt::format("cat '{}' > '{}' 2>/dev/null &", path, pipe).c_str()), 0);
  auto reader = open_reader(pipe);
  ASSERT_TRUE(reader) << reader.error().message;
  for (int read = 0; read < 300; ++read) {
    EXPECT_FALSE((*reader)->frames_expected());
    auto frame = (*reader)->next();
    ASSERT_TRUE(frame && *frame) << read;
  }
}

// --- damage

// The same short video in every file format that we write. The H.264 files have B pictures.
class DamagedFile : public ::testing::TestWithParam<std::pair<const char*, VideoCodec>> {
 protected:
  void SetUp() override {
    const Delivered source = read_all("test:96x80@24");
    ASSERT_TRUE(write_all(path_, source.frames, {.codec = GetParam().second}));
    bytes_ = file_bytes(path_);
    good_ = read_all(path_);
    ASSERT_FALSE(good_.error) << good_.error->message;
    ASSERT_EQ(good_.frames.size(), 24U);
  }

  // Every delivered frame must be correct. If frames are missing, an error must name the file and the frame.
  void expect_prefix_then_error(const Delivered& delivered, bool may_be_complete) {
    for (std::size_t i = 0; i < std::min(delivered.frames.size(), good_.frames.size()); ++i)
      ASSERT_TRUE(same_samples(delivered.frames[i], good_.frames[i]));
    if (!may_be_complete) {
      ASSERT_LE(delivered.frames.size(), good_.frames.size());
    }
    if (delivered.frames.size() < good_.frames.size()) {
      ASSERT_TRUE(delivered.error) << "only " << delivered.frames.size() << " frames, and no error";
    }
    if (delivered.error) {
      EXPECT_THAT(delivered.error->message, HasSubstr(path_));
      EXPECT_THAT(delivered.error->message, Not(HasSubstr("\n")));
      EXPECT_EQ(delivered.error->kind, ErrorKind::failure);
    }
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / GetParam().first;
  std::vector<char> bytes_;
  Delivered good_;
};

TEST_P(DamagedFile, CutAnywhereDeliversTheFramesBeforeAndThenAnError) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const std::size_t keep = 1 + random() % (bytes_.size() - 1);
    SCOPED_TRACE(fmt::format("cut at {} of {}", keep, bytes_.size()));
    write_file(path_, {bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(keep)});
    const Delivered delivered = read_all(path_);
    expect_prefix_then_error(delivered, false);
    if (HasFatalFailure()) return;
  }
}

TEST_P(DamagedFile, WithGarbageInItNeverCrashesNorHangs) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    std::vector<char> bytes = bytes_;
    const std::size_t at = random() % bytes.size();
    for (std::size_t i = at; i < std::min(bytes.size(), at + 1 + random() % 64); ++i)
      bytes[i] = static_cast<char>(random());
    write_file(path_, bytes);
    const Delivered delivered = read_all(path_);
    ASSERT_LE(delivered.frames.size(), good_.frames.size());
    int wrong = 0;
    for (std::size_t i = 0; i < delivered.frames.size(); ++i)
      wrong += same_samples(delivered.frames[i], good_.frames[i]) ? 0 : 1;
    // Without checksums, a wrong byte gives wrong samples: in at most two pictures if all are intra-coded.
    if (GetParam().second != VideoCodec::h264) {
      EXPECT_LE(wrong, GetParam().second == VideoCodec::ffv1 ? 0 : 2) << "damage at " << at;
    }
    if (delivered.error) {
      EXPECT_THAT(delivered.error->message, AllOf(HasSubstr(path_), Not(HasSubstr("\n"))));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedFile,
                         ::testing::Values(std::pair("y4m.y4m", VideoCodec::automatic),
                                           std::pair("ffv1.mkv", VideoCodec::ffv1),
                                           std::pair("h264.mkv", VideoCodec::h264),
                                           std::pair("h264mp4.mp4", VideoCodec::h264)),
                         [](const auto& test) {
                           const std::string name = test.param.first;
                           return name.substr(0, name.find('.'));
                         });

TEST(Ffv1, ReportsDamageWithinAPictureByItsChecksums) {
  TemporaryFolder folder;
  const std::string path = folder / "a.mkv";
  ASSERT_TRUE(write_all(path, read_all("test:352x288@10").frames, {.codec = VideoCodec::ffv1}));
  const Delivered good = read_all(path);
  const std::vector<char> bytes = file_bytes(path);
  for (const double where : {0.35, 0.5, 0.8}) {
    std::vector<char> damaged = bytes;
    damaged[static_cast<std::size_t>(static_cast<double>(bytes.size()) * where)] ^= 0x55;
    write_file(path, damaged);
    const Delivered delivered = read_all(path);
    ASSERT_TRUE(delivered.error);
    EXPECT_THAT(delivered.error->message, HasSubstr(fmt::format("frame {}", delivered.frames.size())));
    ASSERT_LT(delivered.frames.size(), 10U);
    for (std::size_t i = 0; i < delivered.frames.size(); ++i)
      EXPECT_TRUE(same_samples(delivered.frames[i], good.frames[i]));
  }
}

TEST(ElementaryStream, CutWithinAPictureDeliversTheFramesBeforeAndThenAnError) {
  for (const char* name : {"foreman_cif.264", "street_1080p.264"}) {
    const std::string path = clip(name);
    MILLRACE_REQUIRE_CLIP(path);
    const std::vector<char> bytes = file_bytes(path);
    TemporaryFolder folder;
    const std::string cut = folder / "cut.264";
    write_file(cut, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 8)});
    auto whole = open_reader(path);
    ASSERT_TRUE(whole);
    const Delivered delivered = read_all(cut);
    ASSERT_TRUE(delivered.error);
    EXPECT_THAT(delivered.error->message, HasSubstr(fmt::format("frame {}", delivered.frames.size())));
    EXPECT_GT(delivered.frames.size(), 2U);
    for (const Frame& frame : delivered.frames) {
      auto expected = (*whole)->next();
      ASSERT_TRUE(expected && *expected);
      EXPECT_TRUE(same_samples(frame, **expected));
    }
  }
}

TEST(ElementaryStream, WithZeroesInAPictureSaysAtWhichFrame) {
  const std::string path = clip("foreman_cif.264");
  MILLRACE_REQUIRE_CLIP(path);
  std::vector<char> bytes = file_bytes(path);
  bytes.resize(bytes.size() / 4);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), 2000, '\0');
  TemporaryFolder folder;
  write_file(folder / "damaged.264", bytes);
  auto whole = open_reader(path);
  ASSERT_TRUE(whole);
  const Delivered delivered = read_all(folder / "damaged.264");
  ASSERT_TRUE(delivered.error);
  EXPECT_THAT(delivered.error->message, HasSubstr(fmt::format("frame {}", delivered.frames.size())));
  EXPECT_GT(delivered.frames.size(), 10U);
  for (const Frame& frame : delivered.frames) {
    auto expected = (*whole)->next();
    ASSERT_TRUE(expected && *expected);
    EXPECT_TRUE(same_samples(frame, **expected));
  }
}

TEST(ElementaryStream, ThatChangesNamesTheFrameAndWhatChanges) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  struct Change {
    const char* second;  // FFmpeg options
    const char* message;
  };
  for (const auto& [second, message] :
       {Change{"-s 96x80 -pix_fmt yuv420p", "frame 5: the picture changes from 64x48 to 96x80,"},
        Change{"-s 64x48 -pix_fmt yuv422p", "frame 5: the pixel format changes from yuv420p to yuv422p,"}}) {
    TemporaryFolder folder;
    std::vector<char> bytes;
    for (const char* part : {"-s 64x48 -pix_fmt yuv420p", second}) {
      const std::string path = folder / "part.264";
      ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc=d=0.2 {} -c:v libx264 '{}'", part, path)));
      const std::vector<char> more = file_bytes(path);
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    write_file(folder / "both.264", bytes);
    const Delivered delivered = read_all(folder / "both.264");
    EXPECT_EQ(delivered.frames.size(), 5U);
    ASSERT_TRUE(delivered.error);
    EXPECT_THAT(delivered.error->message, HasSubstr(message));
  }
}

TEST(Still, CutInItsMiddleIsCalledDamaged) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc=s=64x48 -frames:v 1 '{}'", folder / "a.png")));
  const std::vector<char> bytes = file_bytes(folder / "a.png");
  write_file(folder / "a.png",
             {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2)});
  const auto reader = open_reader(folder / "a.png");
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("a.png: its only picture cannot be decoded"));
}

// --- formats FFmpeg decodes

struct Conversion {
  const char* ffmpeg;
  Chroma chroma;
  int bits;
  const char*
      same_as;  // pixel format with the same samples that it must be delivered as; empty: not lossless
};

class ConvertedFormat : public ::testing::TestWithParam<Conversion> {};

TEST_P(ConvertedFormat, BecomesTheNearestPlanarOne) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const Conversion& expected = GetParam();
  TemporaryFolder folder;
  const std::string source = folder / "source.nut";
  ASSERT_EQ(
      std::system(
          fmt::format("ffmpeg -v error -f lavfi -i testsrc2=s=48x32:d=0.08 -pix_fmt {} -c:v rawvideo '{}'",
                      expected.ffmpeg, source)
              .c_str()),
      0);
  const Delivered delivered = read_all(source);
  ASSERT_FALSE(delivered.error) << delivered.error->message;
  ASSERT_EQ(delivered.frames.size(), 2U);
  EXPECT_EQ(delivered.frames[0].format().chroma, expected.chroma);
  EXPECT_EQ(delivered.frames[0].format().bits, expected.bits);
  if (std::string(expected.same_as).empty()) return;
  ASSERT_EQ(std::system(fmt::format("ffmpeg -v error -i '{}' -pix_fmt {} -strict -1 '{}'", source,
                                    expected.same_as, folder / "reference.y4m")
                            .c_str()),
            0);
  const Delivered reference = read_all(folder / "reference.y4m");
  ASSERT_EQ(reference.frames.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(same_samples(delivered.frames[i], reference.frames[i]));
}

INSTANTIATE_TEST_SUITE_P(
    PixelFormats, ConvertedFormat,
    ::testing::Values(
        Conversion{"yuv420p", Chroma::c420, 8, "yuv420p"}, Conversion{"nv12", Chroma::c420, 8, "yuv420p"},
        Conversion{"nv21", Chroma::c420, 8, "yuv420p"}, Conversion{"yuyv422", Chroma::c422, 8, "yuv422p"},
        Conversion{"uyvy422", Chroma::c422, 8, "yuv422p"},
        Conversion{"yuv420p10be", Chroma::c420, 10, "yuv420p10le"},
        Conversion{"yuv444p16be", Chroma::c444, 16, "yuv444p16le"},
        Conversion{"gray16be", Chroma::gray, 16, "gray16le"}, Conversion{"gray", Chroma::gray, 8, "gray"},
        Conversion{"ya8", Chroma::gray, 8, "gray"}, Conversion{"yuva420p", Chroma::c420, 8, "yuv420p"},
        Conversion{"yuva444p10le", Chroma::c444, 10, "yuv444p10le"}, Conversion{"monow", Chroma::gray, 8, ""},
        Conversion{"rgb24", Chroma::c444, 8, ""}, Conversion{"bgra", Chroma::c444, 8, ""},
        Conversion{"rgb48le", Chroma::c444, 16, ""}, Conversion{"gbrp10le", Chroma::c444, 10, ""},
        Conversion{"yuv411p", Chroma::c422, 8, ""}, Conversion{"yuv410p", Chroma::c420, 8, ""},
        Conversion{"yuv440p", Chroma::c444, 8, ""}),
    [](const auto& test) { return std::string(test.param.ffmpeg); });

TEST(Reader, NamesWhatAFileHasBesideItsFrames) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const TemporaryFolder folder;
  const std::string plain = folder / "plain.mkv";
  const std::string more = folder / "more.mp4";
  const std::string alpha = folder / "alpha.mkv";
  ASSERT_TRUE(ffmpeg("-f lavfi -i testsrc2=s=64x48:d=0.2 -c:v ffv1 " + plain));
  const std::string upright = folder / "upright.mp4";
  ASSERT_TRUE(
      ffmpeg("-f lavfi -i testsrc2=s=64x48:d=0.2 -f lavfi -i sine=d=0.2 -f lavfi -i testsrc2=s=32x32:d=0.2 "
             "-map 0 -map 1 -map 2 -c:v mpeg4 " +
             upright));
  ASSERT_TRUE(ffmpeg("-i " + upright + " -map 0 -c copy -metadata:s:v rotate=90 " + more));
  ASSERT_TRUE(ffmpeg("-f lavfi -i testsrc2=s=64x48:d=0.2,format=yuva420p -c:v ffv1 " + alpha));
  EXPECT_THAT((*open_reader(plain))->unread(), ::testing::IsEmpty());
  EXPECT_THAT((*open_reader(more))->unread(),
              ::testing::ElementsAre("1 stream of further video", "1 stream of audio"));
  EXPECT_THAT((*open_reader(alpha))->unread(), ::testing::ElementsAre("alpha"));
}

TEST(Reader, TakesYuvjAsTheSamePlanesOfFullRange) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  ASSERT_EQ(std::system(
                fmt::format("ffmpeg -v error -f lavfi -i testsrc2=s=48x32:d=0.2 -pix_fmt yuvj422p -c:v mjpeg "
                            "'{}'",
                            folder / "a.avi")
                    .c_str()),
            0);
  auto reader = open_reader(folder / "a.avi");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->format().chroma, Chroma::c422);
  EXPECT_EQ((*reader)->format().range, ColorRange::full);
  EXPECT_EQ((*reader)->frame_count_hint(), 5);
}

// --- names

struct BadName {
  const char* title;
  std::string input;
  ErrorKind kind;
  const char* says;
};

class BadInput : public ::testing::TestWithParam<BadName> {};

TEST_P(BadInput, IsOneLineThatNamesTheThing) {
  TemporaryFolder folder;
  write_file(folder / "empty.mp4", {});
  write_file(folder / "empty.y4m", {});
  const std::string noise = "this is not a video of any kind, only text\n";
  write_file(folder / "noise.mp4", {noise.begin(), noise.end()});
  write_file(folder / "noise.y4m", {noise.begin(), noise.end()});
  write_file(folder / "noise.264", {noise.begin(), noise.end()});
  std::string input = GetParam().input;
  if (const auto at = input.find('@'); at == 0) input = folder / input.substr(1);
  const auto reader = open_reader(input);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, GetParam().kind) << reader.error().message;
  EXPECT_THAT(reader.error().message, HasSubstr(GetParam().says));
  EXPECT_THAT(reader.error().message, HasSubstr(input));
  EXPECT_THAT(reader.error().message, Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Names, BadInput,
    ::testing::Values(BadName{"no_name", "", ErrorKind::usage, "no name"},
                      BadName{"missing", "@nothing.mp4", ErrorKind::usage, "no such file"},
                      BadName{"missing_y4m", "@nothing.y4m", ErrorKind::usage, "no such file"},
                      BadName{"inside_a_file", "@noise.mp4/x.mp4", ErrorKind::usage, "no such file"},
                      BadName{"directory", "@", ErrorKind::usage, "directory"},
                      BadName{"empty", "@empty.mp4", ErrorKind::failure, "empty"},
                      BadName{"empty_y4m", "@empty.y4m", ErrorKind::failure, "empty"},
                      BadName{"noise", "@noise.mp4", ErrorKind::failure, "not a video"},
                      BadName{"noise_y4m", "@noise.y4m", ErrorKind::failure, "YUV4MPEG2"},
                      BadName{"noise_264", "@noise.264", ErrorKind::failure, ""}),
    [](const auto& test) { return std::string(test.param.title); });

TEST(Reader, RefusesAnUnreadableFile) {
  if (geteuid() == 0) GTEST_SKIP() << "the superuser may read everything";
  TemporaryFolder folder;
  write_file(folder / "a.mp4", {'x'});
  ASSERT_EQ(chmod((folder / "a.mp4").c_str(), 0), 0);
  const auto reader = open_reader(folder / "a.mp4");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, ErrorKind::usage);
  EXPECT_THAT(reader.error().message, HasSubstr("permissions"));
}

TEST(Reader, RefusesSoundWithoutVideo) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  ASSERT_EQ(std::system(("ffmpeg -v error -f lavfi -i sine=d=0.2 '" + (folder / "a.wav") + "'").c_str()), 0);
  const auto reader = open_reader(folder / "a.wav");
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("no video stream"));
}

TEST(Reader, RefusesFramesAboveTheLimit) {
  TemporaryFolder folder;
  const std::string header = "YUV4MPEG2 W32768 H32768 C444p16\nFRAME\n";
  write_file(folder / "a.y4m", {header.begin(), header.end()});
  const auto reader = open_reader(folder / "a.y4m");
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("limit"));
}

}  // namespace
}  // namespace millrace::video
