// Truncated and damaged videos: only frames that are intact are delivered, and the missing ones are counted.
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/video/video_testing.h"
#include "millrace/video/y4m/y4m_reader.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <string_view>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;
using ::testing::HasSubstr;

constexpr std::ptrdiff_t ts_packet = 188;

struct Kind {
  const char* title;
  const char* file;
  const char* encode;
  bool timed = true;
  bool tells_damage = true;  // FFmpeg's decoder reports damage
};

Delivered read_with(const std::string& path, const ReaderOptions& options, Losses& losses) {
  auto reader = open_reader(path, options);
  if (!reader) return {{}, reader.error()};
  Delivered delivered = read_all(**reader);
  losses = (*reader)->losses();
  return delivered;
}

void expect_same_frames(const Delivered& delivered, const Delivered& expected, const std::string& what) {
  ASSERT_EQ(delivered.frames.size(), expected.frames.size()) << what;
  for (std::size_t i = 0; i < expected.frames.size(); ++i)
    ASSERT_TRUE(same_samples(delivered.frames[i], expected.frames[i])) << what << ", frame " << i;
}

class Cut : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
    path_ = folder_ / GetParam().file;
    ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc2=s=96x80:r=25:d=2.4,noise=alls=40:allf=t {} '{}'",
                                   GetParam().encode, path_)));
    bytes_ = file_bytes(path_);
    whole_ = read_all(path_);
    ASSERT_FALSE(whole_.error) << whole_.error->message;
    ASSERT_EQ(whole_.frames.size(), 60U);
  }

  [[nodiscard]] Delivered read(const std::vector<char>& bytes, OnDamage on_damage, Losses& losses) {
    write_file(path_, bytes);
    return read_with(path_, {.on_damage = on_damage}, losses);
  }

  // Checks that every frame is one of the undamaged video's, in order.
  void expect_only_good(const Delivered& delivered) {
    std::size_t at = 0;
    for (const Frame& frame : delivered.frames) {
      while (at < whole_.frames.size() && !same_samples(frame, whole_.frames[at]))
        ++at;
      ASSERT_LT(at, whole_.frames.size()) << "frame " << frame.index << " is none of the video's";
      ++at;
    }
  }

  // The file without about its first sixth, which contains the first keyframe.
  [[nodiscard]] std::vector<char> without_start(int sixths_of_sixths) const {
    auto at = static_cast<std::ptrdiff_t>(bytes_.size()) * sixths_of_sixths / 36;
    if (std::string_view(GetParam().file).ends_with(".ts")) at = at / ts_packet * ts_packet;
    return {bytes_.begin() + at, bytes_.end()};
  }

  TemporaryFolder folder_;
  std::string path_;
  std::vector<char> bytes_;
  Delivered whole_;
};

TEST_P(Cut, BetweenKeyFramesDeliversWhatFfmpegDoesAndCountsTheRest) {
  for (const int where : {3, 6, 9}) {
    Losses losses;
    const Delivered delivered = read(without_start(where), OnDamage::stop, losses);
    ASSERT_FALSE(delivered.error) << delivered.error->message;
    ASSERT_LT(delivered.frames.size(), 60U);
    expect_only_good(delivered);
    const std::string counts =
        output_of("ffprobe -v error -select_streams v:0 -count_frames -count_packets -show_entries "
                  "stream=nb_read_frames,nb_read_packets -of default=nk=1:nw=1 '" +
                  path_ + "' 2>/dev/null </dev/null");
    if (GetParam().tells_damage) {
      EXPECT_EQ(std::to_string(delivered.frames.size()), counts.substr(0, counts.find('\n')));
    }
    const int packets = std::stoi(counts.substr(counts.find('\n')));
    // Without timestamps, the truncated picture itself may be counted twice.
    EXPECT_NEAR(static_cast<double>(losses.at_start), packets - static_cast<double>(delivered.frames.size()),
                GetParam().timed ? 0 : 1);
    EXPECT_EQ(losses.damaged, 0);
  }
}

TEST_P(Cut, AnywhereAtItsEndGivesNoGarbage) {
  if (!GetParam().tells_damage) GTEST_SKIP() << "FFmpeg's decoder does not tell";
  for (int part = 1; part < 12; ++part) {
    std::vector<char> bytes = bytes_;
    bytes.resize(bytes.size() * static_cast<std::size_t>(part) / 12);
    Losses losses;
    const Delivered stopped = read(bytes, OnDamage::stop, losses);
    expect_only_good(stopped);
    const Delivered skipped = read(bytes, OnDamage::skip, losses);
    expect_only_good(skipped);
    if (skipped.frames.empty()) continue;
    EXPECT_GE(skipped.frames.size(), stopped.frames.size());
    EXPECT_FALSE(skipped.error) << skipped.error->message;
    EXPECT_EQ(stopped.error.has_value(), !losses.first_damage.empty());
  }
}

// Overwrites bytes inside the packets of a transport stream, or of a raw bitstream, with zeros. Every picture
// is still there, some in part.
TEST_P(Cut, WithDamageInsideEndsThereOrGoesOnBehindIt) {
  if (!GetParam().tells_damage || !GetParam().timed) GTEST_SKIP() << "FFmpeg's decoder does not tell";
  for (const int where : {4, 7}) {
    std::vector<char> bytes = bytes_;
    const auto middle = static_cast<std::ptrdiff_t>(bytes.size()) * where / 12 / ts_packet * ts_packet;
    for (std::ptrdiff_t packet = 0; packet < 40; ++packet)  // everything but the transport packet headers
      std::fill_n(bytes.begin() + middle + packet * ts_packet + 4, ts_packet - 4, '\0');
    Losses losses;
    const Delivered stopped = read(bytes, OnDamage::stop, losses);
    ASSERT_TRUE(stopped.error);
    EXPECT_THAT(stopped.error->message, HasSubstr(fmt::format("frame {}", stopped.frames.size())));
    ASSERT_LE(stopped.frames.size(), whole_.frames.size());
    for (std::size_t i = 0; i < stopped.frames.size(); ++i)
      ASSERT_TRUE(same_samples(stopped.frames[i], whole_.frames[i])) << i;

    const Delivered skipped = read(bytes, OnDamage::skip, losses);
    ASSERT_FALSE(skipped.error) << skipped.error->message;
    expect_only_good(skipped);
    EXPECT_GT(skipped.frames.size(), stopped.frames.size());
    EXPECT_LT(skipped.frames.size(), 60U);
    EXPECT_GT(losses.damaged, 0);
    EXPECT_THAT(losses.first_damage, HasSubstr("frame "));
    // If the start of a picture is overwritten, it merges with the picture before, which cannot be detected.
    EXPECT_LE(static_cast<std::int64_t>(skipped.frames.size()) + losses.damaged, 60);
    EXPECT_GE(static_cast<std::int64_t>(skipped.frames.size()) + losses.damaged, 56);
  }
}

INSTANTIATE_TEST_SUITE_P(Videos, Cut,
                         ::testing::Values(Kind{"h264", "a.ts", "-c:v libx264 -g 15 -bf 2"},
                                           Kind{"h264_open_gop", "a.ts",
                                                "-c:v libx264 -x264-params keyint=15:open-gop=1:bframes=2"},
                                           Kind{"h264_bare", "a.264", "-c:v libx264 -g 15 -bf 2", false},
                                           Kind{"mpeg2", "a.ts", "-c:v mpeg2video -g 12 -bf 2"},
                                           Kind{"hevc", "a.ts",
                                                "-c:v libx265 -x265-params log-level=0:keyint=15:open-gop=0",
                                                true, false}),
                         [](const auto& test) { return test.param.title; });

// --- videos with a gradual refresh in place of keyframes

class RefreshedGradually : public Cut {
 protected:
  // The place of each packet in the file.
  [[nodiscard]] std::vector<std::ptrdiff_t> places() const {
    std::istringstream lines(output_of("ffprobe -v error -show_entries packet=pos -of default=nk=1:nw=1 '" +
                                       path_ + "' </dev/null"));
    std::vector<std::ptrdiff_t> begins;
    for (std::ptrdiff_t place = 0; lines >> place;)
      begins.push_back(place);
    return begins;
  }
};

// The decoder would trust a count of pictures that x264 states too low.
TEST_P(RefreshedGradually, GoOnBehindDamageWithWholePicturesOnly) {
  constexpr std::ptrdiff_t longest_refresh = 18;  // x264 begins the next one a little later than -g says
  constexpr std::ptrdiff_t most_reordered = 4;
  const std::vector<std::ptrdiff_t> begins = places();
  ASSERT_EQ(begins.size(), 60U);
  for (std::size_t packet = 3; packet < 24; ++packet) {
    std::vector<char> bytes = bytes_;
    std::fill_n(bytes.begin() + begins[packet], 4, '\xff');  // the length of a unit
    write_file(path_, bytes);
    Losses losses_of_one;
    for (const int threads : {1, 4}) {
      SCOPED_TRACE(fmt::format("packet {}, threads {}", packet, threads));
      Losses losses;
      const Delivered delivered =
          read_with(path_, {.decoder_threads = threads, .on_damage = OnDamage::skip}, losses);
      ASSERT_FALSE(delivered.error) << delivered.error->message;
      ASSERT_NO_FATAL_FAILURE(expect_only_good(delivered));
      EXPECT_GT(losses.damaged, 0);
      EXPECT_EQ(std::ssize(delivered.frames) + losses.damaged, 60);
      EXPECT_LE(losses.damaged, 2 * longest_refresh + most_reordered);
      if (threads == 1) losses_of_one = losses;
      EXPECT_EQ(losses, losses_of_one);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Videos, RefreshedGradually,
    ::testing::Values(Kind{"without_b", "a.mp4", "-s 64x48 -c:v libx264 -intra-refresh 1 -g 15 -bf 0"},
                      Kind{"with_b", "a.mp4", "-s 64x48 -c:v libx264 -intra-refresh 1 -g 15 -bf 2"},
                      Kind{"pyramid", "a.mp4",
                           "-s 64x48 -c:v libx264 -intra-refresh 1 -g 15 -x264-params "
                           "bframes=3:b-pyramid=normal"},
                      Kind{"wide_pyramid", "a.mov",
                           "-s 160x64 -c:v libx264 -intra-refresh 1 -g 12 -x264-params "
                           "bframes=3:b-pyramid=normal"}),
    [](const auto& test) { return test.param.title; });

// --- raw bitstreams that start at each NAL unit

class BareCut : public Cut {
 protected:
  // Positions of the stream's NAL units.
  [[nodiscard]] std::vector<std::ptrdiff_t> units() const {
    const std::string_view text(bytes_.data(), bytes_.size());
    std::vector<std::ptrdiff_t> begins;
    for (std::size_t at = 0; (at = text.find(std::string_view("\0\0\1", 3), at)) != std::string_view::npos;
         ++at)
      begins.push_back(static_cast<std::ptrdiff_t>(at));
    return begins;
  }
  [[nodiscard]] int ffmpeg_frames() const {
    return std::stoi(output_of("ffprobe -v error -select_streams v:0 -count_frames -show_entries "
                               "stream=nb_read_frames -of default=nk=1:nw=1 '" +
                               path_ + "' 2>/dev/null </dev/null"));
  }
  [[nodiscard]] Delivered read_by(int threads, Losses& losses, OnDamage on_damage = OnDamage::stop) const {
    return read_with(path_, {.decoder_threads = threads, .on_damage = on_damage}, losses);
  }
};

TEST_P(BareCut, BeforeAnyUnitDeliversWhatFfmpegDoesByAnyNumberOfThreads) {
  const std::vector<std::ptrdiff_t> begins = units();
  ASSERT_GT(begins.size(), 60U);
  for (std::size_t unit = 1; unit < 28; ++unit) {  // two groups of pictures
    write_file(path_, {bytes_.begin() + begins[unit], bytes_.end()});
    Losses losses;
    const Delivered one = read_by(1, losses);
    ASSERT_FALSE(one.error) << "unit " << unit << ": " << one.error->message;
    expect_only_good(one);
    EXPECT_EQ(losses.damaged, 0) << "unit " << unit;
    // For HEVC, FFmpeg also returns pictures whose references are missing, until the next keyframe and the
    // pictures shown before it.
    if (GetParam().tells_damage) {
      EXPECT_EQ(std::ssize(one.frames), ffmpeg_frames()) << "unit " << unit;
    } else {
      EXPECT_GE(std::ssize(one.frames), ffmpeg_frames() - 13) << "unit " << unit;
    }
    for (const int threads : {2, 4}) {
      Losses losses_of_several;
      const Delivered several = read_by(threads, losses_of_several);
      ASSERT_FALSE(several.error) << "unit " << unit << ": " << several.error->message;
      EXPECT_EQ(losses_of_several, losses);
      ASSERT_NO_FATAL_FAILURE(
          expect_same_frames(several, one, fmt::format("unit {}, threads {}", unit, threads)));
    }
  }
}

// Removes half of one NAL unit.
TEST_P(BareCut, WithinAUnitGoesOnBehindItByAnyNumberOfThreads) {
  if (!GetParam().tells_damage) GTEST_SKIP() << "FFmpeg's decoder does not tell";
  const std::vector<std::ptrdiff_t> begins = units();
  ASSERT_GT(begins.size(), 60U);
  for (std::size_t unit = 10; unit < 36; ++unit) {
    std::vector<char> bytes(bytes_.begin(), bytes_.begin() + (begins[unit] + begins[unit + 1]) / 2);
    bytes.insert(bytes.end(), bytes_.begin() + begins[unit + 1], bytes_.end());
    write_file(path_, bytes);
    Losses losses;
    const Delivered one = read_by(1, losses, OnDamage::skip);
    ASSERT_FALSE(one.error) << "unit " << unit << ": " << one.error->message;
    expect_only_good(one);
    // Every tenth frame is a keyframe.
    EXPECT_GE(one.frames.size(), 60U - 24U) << "unit " << unit;
    for (const int threads : {2, 4}) {
      Losses losses_of_several;
      const Delivered several = read_by(threads, losses_of_several, OnDamage::skip);
      EXPECT_EQ(losses_of_several, losses);
      ASSERT_NO_FATAL_FAILURE(
          expect_same_frames(several, one, fmt::format("unit {}, threads {}", unit, threads)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Videos, BareCut,
    ::testing::Values(
        Kind{"h264", "a.264", "-c:v libx264 -threads 1 -x264-params keyint=10:scenecut=0:bframes=3"},
        Kind{"h264_open_gop", "a.264",
             "-c:v libx264 -threads 1 -x264-params keyint=10:scenecut=0:open-gop=1:bframes=3"},
        Kind{"hevc", "a.hevc",
             "-c:v libx265 -x265-params log-level=0:keyint=10:scenecut=0:open-gop=0:pools=1:frame-threads=1",
             false, false},
        Kind{"hevc_open_gop", "a.hevc",
             "-c:v libx265 -x265-params log-level=0:keyint=10:scenecut=0:open-gop=1:pools=1:frame-threads=1",
             false, false}),
    [](const auto& test) { return test.param.title; });

// --- bytes overwritten at random places

struct Overwritten {
  Kind kind;
  bool counts = true;  // the container stays intact, so every lost picture is known
  bool notices =
      false;  // every wrong byte is noticed, by checksums; an H.264 decoder notices only invalid syntax
};

class DamagedBytes : public ::testing::TestWithParam<std::tuple<Overwritten, int>> {
 protected:
  void SetUp() override {
    if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
    const Kind& kind = std::get<0>(GetParam()).kind;
    path_ = folder_ / kind.file;
    ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc2=s=96x80:r=25:d=2.4,noise=alls=40:allf=t {} '{}'",
                                   kind.encode, path_)));
    bytes_ = file_bytes(path_);
    whole_ = read_all(path_);
    ASSERT_FALSE(whole_.error) << whole_.error->message;
    ASSERT_EQ(whole_.frames.size(), 60U);
  }

  // Damages another place with other bytes for each seed, within the picture data.
  void damage(unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<char> bytes = bytes_;
    const std::string_view text(bytes.data(), bytes.size());
    const std::size_t begin = path_.ends_with(".mp4") ? text.find("mdat") + 4 : 1000;
    const std::size_t end = path_.ends_with(".mp4") ? text.find("moov") - 4 : bytes.size();
    const std::size_t at = begin + random() % (end - begin - 40);
    for (std::size_t i = 0; i < 40; ++i)
      bytes[at + i] = static_cast<char>(random());
    write_file(path_, bytes);
  }

  [[nodiscard]] Delivered read(OnDamage on_damage, int threads, Losses& losses) const {
    return read_with(path_, {.decoder_threads = threads, .on_damage = on_damage}, losses);
  }

  [[nodiscard]] static int threads() { return std::get<1>(GetParam()); }

  TemporaryFolder folder_;
  std::string path_;
  std::vector<char> bytes_;
  Delivered whole_;
};

constexpr unsigned damaged_copies = 8;

TEST_P(DamagedBytes, GiveTheFramesBeforeWithoutAHole) {
  for (unsigned seed = 1; seed <= damaged_copies; ++seed) {
    damage(seed);
    Losses losses;
    const Delivered stopped = read(OnDamage::stop, threads(), losses);
    ASSERT_LE(stopped.frames.size(), 60U);
    for (std::size_t i = 0; i < stopped.frames.size(); ++i) {
      EXPECT_EQ(stopped.frames[i].timestamp, whole_.frames[i].timestamp) << "copy " << seed;
      if (std::get<0>(GetParam()).notices) {
        EXPECT_TRUE(same_samples(stopped.frames[i], whole_.frames[i])) << "copy " << seed;
      }
    }
    if (stopped.frames.size() < 60 && std::get<0>(GetParam()).kind.timed) {
      EXPECT_TRUE(stopped.error) << "copy " << seed;
    }
  }
}

TEST_P(DamagedBytes, AreSkippedAndEachFrameLostIsCounted) {
  for (unsigned seed = 1; seed <= damaged_copies; ++seed) {
    damage(seed);
    Losses losses;
    const Delivered skipped = read(OnDamage::skip, threads(), losses);
    ASSERT_FALSE(skipped.error) << skipped.error->message;
    std::size_t at = 0;
    for (const Frame& frame : skipped.frames) {
      const auto is_it = [&](const Frame& other) {
        return std::get<0>(GetParam()).notices ? bool(same_samples(frame, other))
                                               : frame.timestamp == other.timestamp;
      };
      while (at < 60 && !is_it(whole_.frames[at]))
        ++at;
      ASSERT_LT(at, 60U) << "copy " << seed << ": frame " << frame.index << " is none of the video's";
      ++at;
    }
    const std::int64_t all = std::ssize(skipped.frames) + losses.damaged + losses.at_start;
    if (std::get<0>(GetParam()).counts) {
      EXPECT_EQ(all, 60) << "copy " << seed << ": " << losses.damaged << " lost, " << losses.first_damage;
    } else {
      EXPECT_LE(all, 60) << "copy " << seed;
    }
  }
}

TEST_P(DamagedBytes, AreJudgedAlikeByAnyNumberOfThreads) {
  if (threads() == 1) GTEST_SKIP() << "what the others are compared with";
  for (unsigned seed = 1; seed <= damaged_copies; ++seed)
    for (const OnDamage on_damage : {OnDamage::stop, OnDamage::skip}) {
      damage(seed);
      Losses losses_of_one;
      Losses losses;
      const Delivered one = read(on_damage, 1, losses_of_one);
      const Delivered several = read(on_damage, threads(), losses);
      EXPECT_EQ(losses, losses_of_one);
      ASSERT_EQ(several.error.has_value(), one.error.has_value()) << "copy " << seed;
      if (one.error) {
        EXPECT_EQ(several.error->message, one.error->message);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same_frames(several, one, fmt::format("copy {}", seed)));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Videos, DamagedBytes,
    ::testing::Combine(
        ::testing::Values(Overwritten{{"h264_mp4", "a.mp4", "-c:v libx264 -g 15 -bf 2"}},
                          Overwritten{{"h264_open_gop", "a.mp4",
                                       "-c:v libx264 -x264-params keyint=15:open-gop=1:bframes=2"}},
                          Overwritten{{"h264_mkv", "a.mkv", "-c:v libx264 -g 15 -bf 2"}, false},
                          Overwritten{{"h264_ts", "a.ts", "-c:v libx264 -g 15 -bf 2"}, false},
                          Overwritten{{"h264_bare", "a.264", "-c:v libx264 -g 15 -bf 2", false}, false},
                          Overwritten{{"mpeg4_mp4", "a.mp4", "-c:v mpeg4 -g 15 -bf 2"}},
                          Overwritten{{"mpeg4_avi", "a.avi", "-c:v mpeg4 -g 15", false}, false},
                          Overwritten{{"ffv1", "a.mkv", "-c:v ffv1 -slicecrc 1"}, false, true}),
        ::testing::ValuesIn(first_if_sanitized({4, 1}))),
    [](const auto& test) {
      return fmt::format("{}_threads_{}", std::get<0>(test.param).kind.title, std::get<1>(test.param));
    });

TEST(Cut, WithoutAnyKeyFrameSaysSo) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  ASSERT_TRUE(ffmpeg(
      fmt::format("-f lavfi -i testsrc2=s=96x80:r=25:d=1 -c:v libx264 -g 250 '{}'", folder / "a.264")));
  const std::vector<char> bytes = file_bytes(folder / "a.264");
  write_file(folder / "a.264", {bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end()});
  const auto reader = open_reader(folder / "a.264");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, ErrorKind::failure);
  EXPECT_THAT(reader.error().message, HasSubstr("a.264"));
}

TEST(Ffv1Damage, OfTheFirstPictureIsNoticed) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  const std::string path = folder / "a.mkv";
  ASSERT_TRUE(ffmpeg(
      fmt::format("-f lavfi -i testsrc2=s=96x80:r=25:d=0.4 -c:v ffv1 -level 3 -slicecrc 1 '{}'", path)));
  std::vector<char> bytes = file_bytes(path);
  const auto first = static_cast<std::ptrdiff_t>(
      std::stoll(output_of("ffprobe -v error -show_entries packet=pos -read_intervals '%+#1' -of "
                           "default=nk=1:nw=1 '" +
                           path + "' </dev/null")));
  std::fill_n(bytes.begin() + first + 200, 40, 'x');
  write_file(path, bytes);
  const Delivered delivered = read_all(path);
  EXPECT_EQ(delivered.frames.size(), 0U);
  ASSERT_TRUE(delivered.error);
  EXPECT_THAT(delivered.error->message, HasSubstr("frame 0: is damaged or truncated: the checksum is wrong"));
}

// FFmpeg takes every picture for a keyframe where an AVI file's index does not say otherwise.
TEST(Ffv1Damage, GoesOnBehindItWithTheNextKeyFrameWhateverTheIndexSays) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  const std::string path = folder / "a.avi";
  ASSERT_TRUE(
      ffmpeg(fmt::format("-f lavfi -i testsrc2=s=96x80:r=25:d=1.2,noise=alls=40:allf=t -c:v ffv1 -level 3 "
                         "-slicecrc 1 -g 10 '{}'",
                         path)));
  const std::vector<char> bytes = file_bytes(path);
  const Delivered whole = read_all(path);
  ASSERT_EQ(whole.frames.size(), 30U);
  const std::size_t index = std::string_view(bytes.data(), bytes.size()).find("idx1");
  ASSERT_NE(index, std::string_view::npos);
  std::istringstream positions(
      output_of("ffprobe -v error -show_entries packet=pos -of default=nk=1:nw=1 '" + path + "' </dev/null"));
  std::vector<std::size_t> begins(30);
  for (std::size_t& begin : begins)
    positions >> begin;
  for (std::size_t damaged = 10; damaged < 20; ++damaged) {
    SCOPED_TRACE(damaged);
    std::vector<char> without_index(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(index));
    without_index[begins[damaged] + 200] ^= 1;
    write_file(path, without_index);
    Losses losses;
    const Delivered skipped = read_with(path, {.on_damage = OnDamage::skip}, losses);
    EXPECT_EQ(losses.damaged, 20 - damaged);
    ASSERT_EQ(skipped.frames.size(), 10 + damaged);
    for (std::size_t i = 0; i < skipped.frames.size(); ++i)
      ASSERT_TRUE(same_samples(skipped.frames[i], whole.frames[i < damaged ? i : i + 20 - damaged])) << i;
  }
}

TEST(MatroskaDamage, ThatOnlyTheContainerNoticesIsAnError) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  const std::string path = folder / "a.mkv";
  ASSERT_TRUE(
      ffmpeg(fmt::format("-f lavfi -i testsrc2=s=96x80:r=25:d=2.4 -c:v libx264 -g 15 -bf 2 '{}'", path)));
  const std::vector<char> whole = file_bytes(path);
  const Delivered good = read_all(path);
  ASSERT_EQ(good.frames.size(), 60U);
  // Packet positions give the sizes of the blocks.
  std::istringstream places(
      output_of("ffprobe -v error -show_entries packet=pos -of default=nk=1:nw=1 '" + path + "' </dev/null"));
  std::vector<std::ptrdiff_t> begins;
  for (std::ptrdiff_t place = 0; places >> place;)
    begins.push_back(place);
  ASSERT_EQ(begins.size(), 60U);
  for (const std::size_t block : {20U, 31U, 44U}) {
    std::vector<char> bytes = whole;
    std::fill_n(bytes.begin() + begins[block] - 10, 40, '\x55');
    write_file(path, bytes);
    const Delivered delivered = read_all(path);
    ASSERT_TRUE(delivered.error) << "block " << block << ": " << delivered.frames.size() << " frames";
    EXPECT_THAT(delivered.error->message, HasSubstr(fmt::format("frame {}", delivered.frames.size())));
    EXPECT_LE(delivered.frames.size(), block + 2);
    for (std::size_t i = 0; i < delivered.frames.size(); ++i)
      EXPECT_TRUE(same_samples(delivered.frames[i], good.frames[i])) << i;
  }
}

// Delivers the bytes without revealing how many there are.
class PipeSource final : public ByteSource {
 public:
  explicit PipeSource(std::string_view bytes) : source_(std::as_bytes(std::span(bytes))) {}
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) override {
    return source_.read(destination);
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return std::nullopt; }
  [[nodiscard]] const std::string& name() const override { return source_.name(); }

 private:
  MemorySource source_;
};

TEST(Y4mDamage, OfAPipeThatIsCutAnywhereInAFrameIsTruncation) {
  const std::string bytes = "YUV4MPEG2 W2 H1 Cmono\nFRAME\nabFRAME\ncd";
  for (std::size_t keep = bytes.size() - 7; keep < bytes.size(); ++keep) {
    ReaderOptions options;
    options.on_damage = OnDamage::skip;
    auto reader =
        open_y4m_reader(std::make_unique<PipeSource>(std::string_view(bytes).substr(0, keep)), options);
    ASSERT_TRUE(reader);
    const Delivered delivered = read_all(**reader);
    EXPECT_FALSE(delivered.error) << keep << ": " << delivered.error->message;
    EXPECT_EQ(delivered.frames.size(), 1U);
    EXPECT_EQ((*reader)->losses().damaged, 1) << keep;
    EXPECT_THAT((*reader)->losses().first_damage, HasSubstr("frame 1: the data ends within it"));
  }
}

TEST(Y4mDamage, CanBeLeftOut) {
  const std::string frame = "FRAME\n";
  const std::string bytes = "YUV4MPEG2 W1 H1 Cmono10\n" + frame + std::string("\x01\x01") + frame +
                            "\x01\x7f" + frame + std::string("\x02\x01") + frame + "\x03";
  ReaderOptions options;
  options.on_damage = OnDamage::skip;
  auto reader = open_y4m_reader(std::make_unique<MemorySource>(std::as_bytes(std::span(bytes))), options);
  ASSERT_TRUE(reader);
  const Delivered delivered = read_all(**reader);
  EXPECT_FALSE(delivered.error);
  EXPECT_EQ(delivered.frames.size(), 2U);
  EXPECT_EQ((*reader)->losses().damaged, 2);
  EXPECT_THAT((*reader)->losses().first_damage, HasSubstr("frame 1: has samples of more than 10 bits"));
}

}  // namespace
}  // namespace millrace::video
