// Hidden parts of an edit list stay hidden. Tests random edit lists and decodes the output with the ffmpeg
// program.
#include "millrace/video/video_testing.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

constexpr int sound_rate = 48000;

struct Edit {
  std::int64_t length = 0;  // milliseconds, the unit of edits in FFmpeg's .mp4
  std::int64_t begin = 0;   // samples of the track, including the encoder's priming
};

std::uint32_t big_endian_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8U | static_cast<std::uint8_t>(bytes.at(at + i));
  return value;
}

std::string big_endian_bytes(std::int64_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> static_cast<unsigned>(shift));
  return bytes;
}

std::string box(const std::string& kind, const std::string& content) {
  return big_endian_bytes(static_cast<std::int64_t>(content.size()) + 8) + kind + content;
}

// Calls `change` for each box in `content` and replaces the box by the result.
template <class Change> std::string for_boxes(const std::string& content, Change&& change) {
  std::string result;
  for (std::size_t at = 0; at + 8 <= content.size();) {
    const std::size_t size = big_endian_at(content, at);
    result += change(content.substr(at + 4, 4), content.substr(at + 8, size - 8));
    at += size;
  }
  return result;
}

// Writes the file with another edit list for its sound. The index follows the samples, which stay in place.
void edit_sound(const std::string& from, const std::string& to, const std::vector<Edit>& edits) {
  const std::vector<char> bytes = file_bytes(from);
  std::string list = big_endian_bytes(0) + big_endian_bytes(std::ssize(edits));
  for (const Edit& edit : edits)
    list += big_endian_bytes(edit.length) + big_endian_bytes(edit.begin) + big_endian_bytes(0x10000);
  const auto track = [&](const std::string& content) {
    if (!content.contains("soun")) return content;
    return for_boxes(content, [&](const std::string& kind, const std::string& inner) {
      if (kind == "edts") return std::string();
      return box(kind, inner) + (kind == "tkhd" ? box("edts", box("elst", list)) : "");
    });
  };
  const std::string changed =
      for_boxes(std::string(bytes.begin(), bytes.end()), [&](const auto& kind, const auto& content) {
        if (kind != "moov") return box(kind, content);
        return box(kind, for_boxes(content, [&](const std::string& part, const std::string& inner) {
                     return box(part, part == "trak" ? track(inner) : inner);
                   }));
      });
  write_file(to, {changed.begin(), changed.end()});
}

// Makes four seconds of sound: silence in the shown parts, noise in the hidden ones. `heard` lists the start
// and end of each shown part, in seconds.
bool make_sound(const std::string& path, const std::string& codec,
                const std::vector<std::pair<double, double>>& heard) {
  std::string silent = "0";
  for (const auto& [begin, end] : heard)
    silent += fmt::format("+between(t,{:.6f},{:.6f})", begin, end);
  return ffmpeg(fmt::format(
      "-f lavfi -i testsrc2=s=32x32:r=25:d=4 -f lavfi -i \"aevalsrc='if({},0,random(0)-0.5)':s={}:d=4\" "
      "-c:v libx264 -preset ultrafast -c:a {} -strict -2 '{}'",
      silent, sound_rate, codec, path));
}

// Returns the sound that the ffmpeg program plays. `before` holds its input options.
std::vector<float> samples_of(const std::string& path, const std::string& before = "") {
  const std::string raw = output_of(fmt::format(
      "ffmpeg -v error -nostdin {} -i '{}' -map 0:a:0 -ac 1 -f f32le - </dev/null", before, path));
  std::vector<float> samples(raw.size() / sizeof(float));
  std::memcpy(samples.data(), raw.data(), samples.size() * sizeof(float));
  return samples;
}

float loudest(const std::vector<float>& samples) {
  float most = 0;
  for (const float sample : samples)
    most = std::max(most, std::abs(sample));
  return most;
}

// Copies the file as a run does, with unchanged frames. Returns the content not kept.
std::vector<std::string> copy_with_sound(const std::string& from, const std::string& to) {
  const auto side = make_side_streams(true);
  auto reader = open_reader(from, {.side_streams = side});
  EXPECT_TRUE(reader) << reader.error().message;
  if (!reader) return {};
  auto writer = open_writer(to, (*reader)->format(), {.overwrite = Overwrite::yes, .side_streams = side});
  EXPECT_TRUE(writer) << writer.error().message;
  if (!writer) return {};
  const Delivered delivered = read_all(**reader);
  EXPECT_FALSE(delivered.error);
  for (const Frame& frame : delivered.frames)
    EXPECT_TRUE((*writer)->write(frame));
  EXPECT_TRUE((*writer)->finish());
  return (*writer)->not_kept();
}

class EditLists : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(EditLists, HideWhatTheyHideInTheOutputToo) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [codec, suffix] = GetParam();
  const bool lossy = std::string_view(codec) == "aac";
  const bool coded = std::string_view(codec) != "pcm_s16le";
  // Samples of the packets that may be left out per edit.
  const int at_edges = std::string_view(codec) == "alac" ? 2 * 4096 : 4 * 1024;
  std::mt19937_64 random(std::string_view(codec).size() * 100 + std::string_view(suffix).size());
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low));
  };
  for (int round = 0; round < 6; ++round) {
    TemporaryFolder folder;
    std::vector<Edit> edits;
    std::vector<std::pair<double, double>> heard;
    const std::int64_t priming = lossy ? 1024 : 0;
    std::int64_t shown = 0;
    std::int64_t at = round % 2 == 0 ? 0 : between(300, 700);  // milliseconds within the sound
    while (at < 2600) {
      const std::int64_t length = between(200, 900);
      edits.push_back(
          {.length = length, .begin = at * sound_rate / 1000 + priming + (at == 0 ? 0 : between(0, 40))});
      const double begin = static_cast<double>(edits.back().begin - priming) / sound_rate;
      heard.emplace_back(begin - 1e-5, begin + static_cast<double>(length) / 1000 + 1e-5);
      shown += length;
      at += length + between(150, 700);
    }
    ASSERT_TRUE(make_sound(folder / "all.mov", codec, heard));
    edit_sound(folder / "all.mov", folder / "in.mov", edits);
    const std::string output = folder / (std::string("out") + suffix);
    const std::vector<std::string> not_kept = copy_with_sound(folder / "in.mov", output);
    if (!not_kept.empty() && not_kept.front().contains("cannot hold")) GTEST_SKIP() << not_kept.front();
    const std::vector<float> played = samples_of(output);
    // Quantisation in lossy codecs spreads a little. The noise itself is at 0.5.
    EXPECT_LT(loudest(played), lossy ? 0.02F : 1e-6F) << "round " << round;
    // Only a few packets at the edges may be left out, and they must be reported.
    const double edges = static_cast<double>(edits.size()) * at_edges / sound_rate;
    EXPECT_GT(static_cast<double>(played.size()) / sound_rate, static_cast<double>(shown) / 1000 - edges)
        << "round " << round;
    EXPECT_LT(static_cast<double>(played.size()) / sound_rate, static_cast<double>(shown) / 1000 + 0.025)
        << "round " << round;
    if (coded && edits.size() > 1) {
      EXPECT_THAT(not_kept, ::testing::Contains(::testing::HasSubstr("edit list"))) << "round " << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sound, EditLists,
                         ::testing::Combine(::testing::Values("aac", "pcm_s16le", "alac"),
                                            ::testing::Values(".mp4", ".mkv", ".mov")),
                         [](const auto& test) {
                           return fmt::format("{}_to_{}", std::get<0>(test.param),
                                              std::string(std::get<1>(test.param)).substr(1));
                         });

class LosslessSound : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

// The list ends or begins anywhere, also within the last packet. The start is exact where an edit list of the
// output can hide the rest; otherwise a packet is left out and reported.
TEST_P(LosslessSound, OfOneEditLosesAPacketAtMostAndShowsNothingHidden) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [codec, suffix] = GetParam();
  const bool matroska = std::string_view(suffix) == ".mkv";
  constexpr int packet = 4608;  // samples, of FLAC; ALAC has 4096
  constexpr std::int64_t all = 4000;
  std::mt19937_64 random(7);
  for (int round = 0; round < 8; ++round) {
    TemporaryFolder folder;
    const bool trims_start = round % 2 == 0;
    const std::int64_t within = 3 + static_cast<std::int64_t>(random() % (round < 4 ? 80 : 3000));
    const Edit edit{.length = all - within, .begin = trims_start ? within * sound_rate / 1000 : 0};
    const double begin = static_cast<double>(edit.begin) / sound_rate;
    ASSERT_TRUE(make_sound(folder / "all.mp4", codec,
                           {{begin - 1e-5, begin + static_cast<double>(edit.length) / 1000 - 1e-5}}));
    edit_sound(folder / "all.mp4", folder / "in.mp4", {edit});
    const std::string output = folder / (std::string("out") + suffix);
    const std::vector<std::string> not_kept = copy_with_sound(folder / "in.mp4", output);
    if (!not_kept.empty() && not_kept.front().contains("cannot hold")) GTEST_SKIP() << not_kept.front();
    const std::vector<float> played = samples_of(output);
    EXPECT_LT(loudest(played), 1e-6F) << "round " << round;
    const std::int64_t wanted = edit.length * sound_rate / 1000;
    if (trims_start && !matroska) {
      EXPECT_EQ(std::ssize(played), wanted) << "round " << round;
      EXPECT_THAT(not_kept, ::testing::IsEmpty()) << "round " << round;
      continue;
    }
    EXPECT_LE(std::ssize(played), wanted) << "round " << round;
    EXPECT_GT(std::ssize(played), wanted - packet) << "round " << round;
    if (std::ssize(played) < wanted) {
      EXPECT_THAT(not_kept, ::testing::Contains(::testing::HasSubstr("edit list"))) << "round " << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sound, LosslessSound,
                         ::testing::Combine(::testing::Values("alac", "flac"),
                                            ::testing::Values(".mp4", ".mkv", ".mov")),
                         [](const auto& test) {
                           return fmt::format("{}_to_{}", std::get<0>(test.param),
                                              std::string(std::get<1>(test.param)).substr(1));
                         });

struct LateCodec {
  const char* name;
  std::int64_t priming;  // samples before the first one, which FFmpeg's muxer hides
  int packet;            // samples
  float hidden_noise;    // less than this may spread into the shown part, where the noise itself is at 0.5
};

class LateSound : public ::testing::TestWithParam<std::tuple<LateCodec, const char*>> {};

// A track that begins late has an empty edit, and then one that begins inside the media if it was trimmed.
TEST_P(LateSound, HidesWhatIsBeforeItsFirstEdit) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [codec, suffix] = GetParam();
  std::mt19937_64 random(5);
  for (int round = 0; round < 6; ++round) {
    TemporaryFolder folder;
    const Edit empty{.length = 1 + static_cast<std::int64_t>(random() % 1000), .begin = -1};
    const Edit shown{.length = 1000,
                     .begin = codec.priming + 1 +
                              static_cast<std::int64_t>(random() % (round < 4 ? 5000 : 48000))};
    const double begin = static_cast<double>(shown.begin - codec.priming) / sound_rate;
    ASSERT_TRUE(make_sound(folder / "all.mov", codec.name, {{begin - 1e-5, begin + 1 + 1e-5}}));
    edit_sound(folder / "all.mov", folder / "in.mov", {empty, shown});
    const std::string output = folder / (std::string("out") + suffix);
    const std::vector<std::string> not_kept = copy_with_sound(folder / "in.mov", output);
    if (!not_kept.empty() && not_kept.front().contains("cannot hold")) GTEST_SKIP() << not_kept.front();
    const std::vector<float> played = samples_of(output);
    EXPECT_LT(loudest(played), codec.hidden_noise)
        << "round " << round << " " << empty.length << " " << shown.begin;
    // A packet at the start, and two at the end of lossy codecs.
    EXPECT_GT(std::ssize(played), sound_rate - 4 * codec.packet) << "round " << round;
    EXPECT_LE(std::ssize(played), sound_rate + 2) << "round " << round;
    if (std::ssize(played) < sound_rate - 2) {
      EXPECT_THAT(not_kept, ::testing::Contains(::testing::HasSubstr("edit list"))) << "round " << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sound, LateSound,
                         ::testing::Combine(::testing::Values(LateCodec{"aac", 1024, 1024, 0.02F},
                                                              LateCodec{"ac3", 256, 1536, 0.1F},
                                                              LateCodec{"libmp3lame", 1105, 1152, 0.1F},
                                                              LateCodec{"alac", 0, 4096, 1e-6F},
                                                              LateCodec{"pcm_s16le", 0, 1024, 1e-6F}),
                                            ::testing::Values(".mp4", ".mkv", ".mov")),
                         [](const auto& test) {
                           return fmt::format("{}_to_{}", std::get<0>(test.param).name,
                                              std::string(std::get<1>(test.param)).substr(1));
                         });

TEST(EditListOfAnEncoder, LosesNoSound) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  for (const char* codec : {"aac", "alac"}) {
    ASSERT_TRUE(ffmpeg(
        fmt::format("-f lavfi -i testsrc2=s=32x32:r=25:d=2 -f lavfi -i sine=r=48000:d=2.0013 -c:v libx264 "
                    "-preset ultrafast -c:a {} '{}'",
                    codec, folder / "in.mp4")));
    for (const char* name : {"out.mp4", "out.mkv", "out.mov"}) {
      EXPECT_THAT(copy_with_sound(folder / "in.mp4", folder / name), ::testing::IsEmpty()) << codec;
      EXPECT_EQ(samples_of(folder / name).size(), samples_of(folder / "in.mp4").size()) << codec << name;
    }
  }
}

// What somebody cut off at the start is hidden in Matroska too, which has no edit list: packets that are
// hidden in part are left out.
TEST(SoundCutAtItsStart, IsHeardInMatroskaFromTheFirstPacketThatIsShownWhole) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  // A rising tone, so that each packet can be told from all others.
  ASSERT_TRUE(ffmpeg(fmt::format(
      "-f lavfi -i testsrc2=s=32x32:r=25:d=4 -f lavfi -i \"aevalsrc='sin(t*t*900)*0.5':s={}:d=4\" "
      "-c:v libx264 -preset ultrafast -c:a aac -aac_pns 0 '{}'",
      sound_rate, folder / "all.mov")));
  const std::vector<float> all = samples_of(folder / "all.mov", "-ignore_editlist 1");
  for (const std::int64_t cut : {200, 960, 1500, 2112 + 1, 3000}) {
    edit_sound(folder / "all.mov", folder / "in.mov", {{.length = 2000, .begin = cut}});
    const std::vector<std::string> not_kept = copy_with_sound(folder / "in.mov", folder / "out.mkv");
    EXPECT_THAT(not_kept, ::testing::Contains(::testing::HasSubstr("edit list"))) << cut;
    const std::vector<float> played = samples_of(folder / "out.mkv");
    ASSERT_GT(played.size(), 4096U);
    const std::vector<float> some(played.begin() + 2048, played.begin() + 4096);
    const auto found = std::search(all.begin(), all.end(), some.begin(), some.end(),
                                   [](float a, float b) { return std::abs(a - b) < 1e-3F; });
    ASSERT_NE(found, all.end()) << cut;
    const std::int64_t first = found - all.begin() - 2048;
    EXPECT_GE(first, cut) << cut;
    EXPECT_LT(first, cut + 1024) << cut;
  }
}

// Matroska and FLV count milliseconds, so sound copied from there to .mp4 has packets that overlap or gape by
// up to one. No edit list hides anything of it.
class SoundWithRoundedTimes : public ::testing::TestWithParam<const char*> {};

TEST_P(SoundWithRoundedTimes, KeepsEveryPacket) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const std::string codec = GetParam();
  std::mt19937_64 random(codec.size());
  for (const int rate : {22050, 32000, 44100, 48000}) {
    TemporaryFolder folder;
    const double length = 1.5 + static_cast<double>(random() % 1000) / 1000;
    if (!ffmpeg(fmt::format("-f lavfi -i testsrc2=s=32x32:r=25:d=2 -f lavfi -i sine=r={}:d={} -c:v libx264 "
                            "-preset ultrafast -c:a {} -strict -2 '{}'",
                            rate, length, codec, folder / "first.mkv")))
      continue;  // the codec lacks this rate
    ASSERT_TRUE(ffmpeg(
        fmt::format("-i '{}' -map 0 -c copy -strict -2 '{}'", folder / "first.mkv", folder / "in.mp4")));
    for (const char* name : {"out.mp4", "out.mkv", "out.mov"}) {
      const std::vector<std::string> not_kept = copy_with_sound(folder / "in.mp4", folder / name);
      if (!not_kept.empty() && not_kept.front().contains("cannot hold")) continue;
      EXPECT_THAT(not_kept, ::testing::IsEmpty()) << name << " at " << rate;
      // Another decoder of the same codec may round otherwise.
      EXPECT_THAT(samples_of(folder / name),
                  ::testing::Pointwise(::testing::FloatNear(1e-3F), samples_of(folder / "in.mp4")))
          << name << " at " << rate;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, SoundWithRoundedTimes,
                         ::testing::Values("aac", "ac3", "eac3", "alac", "flac", "mp2"),
                         [](const auto& test) { return std::string(test.param); });

// Fragments have no list of their own, and what the header says of their length is an estimate.
class FragmentedSound : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

// Of its packets of sound, in bytes.
std::int64_t size_of_sound(const std::string& path) {
  std::istringstream sizes(output_of(
      "ffprobe -v error -select_streams a:0 -show_entries packet=size -of default=nk=1:nw=1 '" + path + "'"));
  std::int64_t sum = 0;
  for (std::int64_t size = 0; sizes >> size;)
    sum += size;
  return sum;
}

TEST_P(FragmentedSound, KeepsEveryPacket) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [codec, flags] = GetParam();
  TemporaryFolder folder;
  for (const char* name : {"in.mp4", "in.mov"}) {
    if (!ffmpeg(fmt::format("-f lavfi -i testsrc2=s=32x32:r=25:d=3 -f lavfi -i sine=r=48000:d=3 -c:v libx264 "
                            "-preset ultrafast -g 25 -bf 2 -c:a {} -strict -2 -movflags {} '{}'",
                            codec, flags, folder / name)))
      continue;  // the container cannot hold the codec
    EXPECT_THAT(copy_with_sound(folder / name, folder / "out.mkv"), ::testing::IsEmpty()) << name;
    EXPECT_EQ(size_of_sound(folder / "out.mkv"), size_of_sound(folder / name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FragmentedSound,
                         ::testing::Combine(::testing::Values("aac", "libmp3lame", "alac", "pcm_s16le"),
                                            ::testing::Values("frag_keyframe+empty_moov", "frag_keyframe",
                                                              "cmaf+delay_moov",
                                                              "frag_every_frame+empty_moov")),
                         [](const auto& test) {
                           std::string name =
                               fmt::format("{}_{}", std::get<0>(test.param), std::get<1>(test.param));
                           std::ranges::replace(name, '+', '_');
                           return name;
                         });

}  // namespace
}  // namespace millrace::video
