#include "millrace/base/testing/scoped_variable_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/packet_spill.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

// What must come back of a packet.
struct Told {
  std::vector<std::uint8_t> data;
  std::vector<std::vector<std::uint8_t>> side_data;
  std::int64_t pts = 0;
  std::int64_t decoded_in = 0;
  int flags = 0;
  std::size_t stream = 0;
  std::size_t pass = 0;
  bool operator==(const Told&) const = default;
};

Told told(const WaitingPacket& waiting) {
  const AVPacket& packet = *waiting.data;
  Told told{.data = {packet.data, packet.data + packet.size},
            .side_data = {},
            .pts = packet.pts,
            .decoded_in = waiting.decoded_in,
            .flags = packet.flags,
            .stream = waiting.stream,
            .pass = waiting.pass};
  for (int i = 0; i < packet.side_data_elems; ++i)
    told.side_data.emplace_back(packet.side_data[i].data,
                                packet.side_data[i].data + packet.side_data[i].size);
  return told;
}

WaitingPacket some_packet(std::mt19937_64& random) {
  WaitingPacket waiting{.data = FfmpegPtr<AVPacket>(av_packet_alloc()),
                        .stream = random() % 5,
                        .pass = random() % 3,
                        .decoded_in = static_cast<std::int64_t>(random())};
  constexpr std::uint64_t most_bytes = 5000;
  EXPECT_EQ(av_new_packet(waiting.data.get(), static_cast<int>(random() % most_bytes)), 0);
  AVPacket& packet = *waiting.data;
  packet.pts = random() % 4 == 0 ? AV_NOPTS_VALUE : static_cast<std::int64_t>(random());
  packet.flags = static_cast<int>(random() % 8);
  std::generate_n(packet.data, packet.size, [&] { return static_cast<std::uint8_t>(random()); });
  for (const auto type : {AV_PKT_DATA_SKIP_SAMPLES, AV_PKT_DATA_NEW_EXTRADATA}) {
    if (random() % 3 != 0) continue;
    const std::size_t size = 1 + random() % 40;
    std::uint8_t* const bytes = av_packet_new_side_data(&packet, type, size);
    std::generate_n(bytes, size, [&] { return static_cast<std::uint8_t>(random()); });
  }
  return waiting;
}

class PacketSpills : public ::testing::Test {
 protected:
  void SetUp() override { hear_ffmpeg(FfmpegHost::own_program); }
};

TEST_F(PacketSpills, GiveBackWhatTheyTookInOrder) {
  TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    PacketSpill spill(folder / "out.mkv");
    std::deque<Told> wanted;
    std::uint64_t mark = 0;
    std::size_t since_mark = 0;
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t choice = random() % 16;
      if (choice == 0) {
        mark = spill.end();
        since_mark = 0;
      } else if (choice == 1) {
        spill.drop_from(mark);
        wanted.resize(wanted.size() - std::min(since_mark, wanted.size()));
        since_mark = 0;
      } else if (choice < 8 && !wanted.empty()) {
        const auto popped = spill.pop();
        ASSERT_TRUE(popped) << popped.error().message;
        EXPECT_EQ(told(*popped), wanted.front());
        wanted.pop_front();
      } else {
        const WaitingPacket packet = some_packet(random);
        ASSERT_TRUE(spill.push(packet));
        wanted.push_back(told(packet));
        ++since_mark;
      }
      ASSERT_EQ(spill.is_empty(), wanted.empty());
    }
  }
}

TEST_F(PacketSpills, LeaveNoFileBehind) {
  TemporaryFolder folder;
  std::mt19937_64 random(1);
  PacketSpill spill(folder / "out.mkv");
  ASSERT_TRUE(spill.push(some_packet(random)));
  EXPECT_EQ(folder.entries(), 0U);
}

TEST_F(PacketSpills, SayWhereNoFileCanBeMade) {
  TemporaryFolder folder;
  const std::string missing = folder / "missing";
  ScopedVariable variable("TMPDIR", missing);
  std::mt19937_64 random(1);
  PacketSpill spill(missing + "/out.mkv");
  const Status pushed = spill.push(some_packet(random));
  ASSERT_FALSE(pushed);
  EXPECT_NE(pushed.error().message.find(missing), std::string::npos) << pushed.error().message;
}

}  // namespace
}  // namespace millrace::video
