// Transport streams that were joined, by `cat` or a playlist, lose no frame, and what is missing in the
// middle is noticed.
#include "millrace/video/video_testing.h"

#include <array>
#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

using Bytes = std::vector<char>;

void append(Bytes& to, const Bytes& from) { to.insert(to.end(), from.begin(), from.end()); }

struct TransportKind {
  const char* title;
  const char* encode;
  std::ptrdiff_t packet;  // bytes
};

// Of the transport packet at this position.
int pid_at(const Bytes& bytes, std::ptrdiff_t at) {
  const auto byte = [&](std::ptrdiff_t i) {
    return static_cast<unsigned char>(bytes.at(static_cast<std::size_t>(at + i)));
  };
  return (byte(1) & 0x1f) << 8 | byte(2);
}

class JoinedTransport : public ::testing::TestWithParam<TransportKind> {
 protected:
  void SetUp() override {
    if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
    const std::array lengths{0.96, 1.4, 0.6};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::string path = folder_ / fmt::format("{}.ts", i);
      ASSERT_TRUE(
          ffmpeg(fmt::format("-f lavfi -i testsrc2=s=96x80:r=25:d={},noise=alls=30:allf=t:all_seed={} "
                             "-f lavfi -i sine=d={} -c:a mp2 {} '{}'",
                             lengths.at(i), i, lengths.at(i), GetParam().encode, path)));
      parts_.push_back(file_bytes(path));
      Delivered part = read_all(path);
      ASSERT_FALSE(part.error) << part.error->message;
      for (Frame& frame : part.frames)
        frames_.push_back(std::move(frame));
    }
  }

  void expect_all(const std::string& path) {
    auto reader = open_reader(path, {.on_damage = OnDamage::stop});
    ASSERT_TRUE(reader) << reader.error().message;
    const Delivered delivered = read_all(**reader);
    EXPECT_FALSE(delivered.error) << delivered.error->message;
    EXPECT_EQ((*reader)->losses().damaged, 0);
    ASSERT_EQ(delivered.frames.size(), frames_.size());
    for (std::size_t i = 0; i < frames_.size(); ++i)
      ASSERT_TRUE(same_samples(delivered.frames[i], frames_[i])) << "frame " << i;
  }

  // Reads a damaged file. Every frame must be one of the originals, in order. Returns their number.
  std::size_t read_damaged(const Bytes& bytes, Losses& losses) {
    write_file(folder_ / "damaged.ts", bytes);
    return read_damaged(folder_ / "damaged.ts", losses);
  }
  std::size_t read_damaged(const std::string& path, Losses& losses) {
    auto reader = open_reader(path, {.on_damage = OnDamage::skip});
    EXPECT_TRUE(reader) << reader.error().message;
    if (!reader) return 0;
    const Delivered delivered = read_all(**reader);
    losses = (*reader)->losses();
    std::size_t at = 0;
    for (const Frame& frame : delivered.frames) {
      while (at < frames_.size() && !same_samples(frame, frames_[at]))
        ++at;
      EXPECT_LT(at, frames_.size()) << "frame " << frame.index << " is none of the originals";
      if (at == frames_.size()) break;
      ++at;
    }
    return delivered.frames.size();
  }

  void write_playlist(const std::vector<Bytes>& parts) {
    std::string text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      write_file(folder_ / fmt::format("part{}.ts", i), parts[i]);
      text += fmt::format("{}#EXTINF:1,\npart{}.ts\n", i == 0 ? "" : "#EXT-X-DISCONTINUITY\n", i);
    }
    text += "#EXT-X-ENDLIST\n";
    write_file(folder_ / "parts.m3u8", Bytes(text.begin(), text.end()));
  }

  [[nodiscard]] Bytes joined() const {
    Bytes all;
    for (const Bytes& part : parts_)
      append(all, part);
    return all;
  }

  TemporaryFolder folder_;
  std::vector<Bytes> parts_;
  std::vector<Frame> frames_;
};

class NamedTransport : public JoinedTransport {};  // by a playlist

TEST_P(JoinedTransport, GivesEachFrameOfItsParts) {
  write_file(folder_ / "all.ts", joined());
  expect_all(folder_ / "all.ts");
}

TEST_P(JoinedTransport, GivesEachFrameOfItsPartsThroughAPipe) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::jthread writer([&] { write_file(pipe, joined()); });
  expect_all(pipe);
}

// Losses of 16 packets of the video, or of a multiple, cannot be noticed by their numbers.
TEST_P(JoinedTransport, WithoutSomePicturesInTheMiddleIsNoticed) {
  const std::ptrdiff_t size = GetParam().packet;
  const int video = size == 188 ? 0x100 : 0x1011;  // FFmpeg's PID
  const Bytes all = joined();
  struct Begin {
    std::ptrdiff_t at = 0;
    int packets = 0;  // of the video before it
  };
  std::vector<Begin> pictures;
  int packets = 0;
  for (std::ptrdiff_t at = 0; at + size <= std::ssize(all); at += size) {
    const auto byte = [&](std::ptrdiff_t i) {
      return static_cast<unsigned char>(all[static_cast<std::size_t>(at + size - 188 + i)]);
    };
    if (pid_at(all, at + size - 188) != video || (byte(3) & 0x10U) == 0) continue;
    if ((byte(1) & 0x40U) != 0) pictures.push_back({at, packets});
    ++packets;
  }
  ASSERT_EQ(pictures.size(), frames_.size());
  std::mt19937_64 random(5);
  for (int round = 0; round < 12; ++round) {
    const std::size_t first = 1 + random() % (pictures.size() - 5);
    const Begin& from = pictures[first];
    const Begin& to = pictures[first + 1 + random() % 3];
    SCOPED_TRACE(round);
    if ((to.packets - from.packets) % 16 == 0) continue;
    Bytes damaged(all.begin(), all.begin() + from.at);
    damaged.insert(damaged.end(), all.begin() + to.at, all.end());
    Losses losses;
    EXPECT_LT(read_damaged(damaged, losses), frames_.size()) << "round " << round;
  }
}

TEST_P(JoinedTransport, WithoutSomeBytesInTheMiddleGivesNoWrongFrame) {
  const Bytes all = joined();
  std::mt19937_64 random(6);
  const std::ptrdiff_t packets = std::ssize(all) / GetParam().packet;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    const auto from = static_cast<std::ptrdiff_t>(random() % static_cast<std::uint64_t>(packets - 12)) + 3;
    const auto count = static_cast<std::ptrdiff_t>(random() % 8) + 1;
    Bytes damaged(all.begin(), all.begin() + from * GetParam().packet);
    damaged.insert(damaged.end(), all.begin() + (from + count) * GetParam().packet, all.end());
    Losses losses;
    EXPECT_GT(read_damaged(damaged, losses), 0U) << "round " << round;
  }
}

TEST_P(NamedTransport, GivesEachFrameOfItsParts) {
  write_playlist(parts_);
  expect_all(folder_ / "parts.m3u8");
}

// One stream in pieces that begin anywhere, and one of them is missing.
TEST_P(NamedTransport, WithoutAPieceGivesNoWrongFrame) {
  const Bytes all = parts_[1];
  frames_.erase(frames_.begin(), frames_.begin() + 24);
  frames_.resize(35);
  std::mt19937_64 random(7);
  const std::ptrdiff_t packets = std::ssize(all) / 188;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    const std::ptrdiff_t from = packets / 4 + static_cast<std::ptrdiff_t>(random() % 20);
    const std::ptrdiff_t to = from + 17 + static_cast<std::ptrdiff_t>(random() % 30);
    std::ptrdiff_t of_video = 0;
    for (std::ptrdiff_t i = from; i < to; ++i)
      of_video += pid_at(all, i * 188) == 0x100 ? 1 : 0;
    if (of_video % 16 == 0) continue;  // cannot be noticed
    write_playlist({Bytes(all.begin(), all.begin() + from * 188), Bytes(all.begin() + to * 188, all.end())});
    Losses losses;
    EXPECT_LT(read_damaged(folder_ / "parts.m3u8", losses), frames_.size());
  }
}

TEST_P(NamedTransport, WithoutTheEndOfAPartGivesNoWrongFrame) {
  for (const std::ptrdiff_t missing : {100, 188, 1000, 2000}) {
    SCOPED_TRACE(missing);
    std::vector<Bytes> parts = parts_;
    parts[0].resize(parts[0].size() - static_cast<std::size_t>(missing));
    write_playlist(parts);
    Losses losses;
    read_damaged(folder_ / "parts.m3u8", losses);
  }
}

constexpr TransportKind h264{"h264", "-c:v libx264 -g 12 -bf 2", 188};
constexpr TransportKind hevc{"hevc", "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=12",
                             188};
constexpr TransportKind mpeg2{"mpeg2", "-c:v mpeg2video -g 12", 188};
constexpr TransportKind h264_m2ts{"h264_m2ts", "-c:v libx264 -g 12 -bf 2 -mpegts_m2ts_mode 1", 192};

std::string title(const ::testing::TestParamInfo<TransportKind>& kind) { return kind.param.title; }

INSTANTIATE_TEST_SUITE_P(Kinds, JoinedTransport, ::testing::Values(h264, h264_m2ts, hevc, mpeg2), &title);
INSTANTIATE_TEST_SUITE_P(Kinds, NamedTransport, ::testing::Values(h264, hevc, mpeg2), &title);

}  // namespace
}  // namespace millrace::video
