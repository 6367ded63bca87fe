// Files of several parts, each of which restarts its clock.
#include "millrace/video/frame/clock_jumps.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

struct Packet {
  std::size_t stream = 0;
  std::int64_t decoded = 0;
  std::int64_t duration = 0;
};

struct Placed {
  std::vector<std::vector<std::int64_t>> times;  // one list per stream
  std::vector<ClockJumps::Jump> jumps;
};

// Places packets as a demuxer does.
Placed placed(const std::vector<Packet>& packets, std::size_t streams) {
  ClockJumps clock;
  Placed result{.times = std::vector<std::vector<std::int64_t>>(streams), .jumps = {}};
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const Packet& packet = packets[i];
    std::optional<std::int64_t> next;
    if (clock.looks_ahead(packet.stream, packet.decoded, true)) {
      const auto later = std::ranges::find(packets.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                           packets.end(), packet.stream, &Packet::stream);
      if (later != packets.end()) next = later->decoded;
    }
    const std::int64_t by = clock.place(packet.stream, packet.decoded, packet.duration, true, next);
    result.times[packet.stream].push_back(packet.decoded + by);
  }
  result.jumps = clock.jumps();
  return result;
}

// Pictures and sound of one part, with sound up to `ahead` before the pictures of the same time.
std::vector<Packet> part(std::int64_t begin, std::int64_t length, std::int64_t ahead) {
  std::vector<std::pair<std::int64_t, Packet>> order;
  for (std::int64_t at = 0; at < length; at += 40'000)
    order.push_back({at, {.stream = 0, .decoded = begin + at, .duration = 40'000}});
  for (std::int64_t at = 0; at < length; at += 21'333)
    order.push_back({at - ahead, {.stream = 1, .decoded = begin + at, .duration = 21'333}});
  std::ranges::stable_sort(order, {}, &std::pair<std::int64_t, Packet>::first);
  std::vector<Packet> packets;
  for (auto& [place, packet] : order)
    packets.push_back(packet);
  return packets;
}

// Encoders with `delay` pictures held back decode a picture at the time at which another one is shown.
TEST(ClockJumps, AreNoneInPicturesOutOfOrderThatLastDifferently) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    const int delay = static_cast<int>(random() % 5);
    std::vector<std::int64_t> shown;  // in order of display
    std::vector<std::int64_t> durations;
    for (std::int64_t at = 0; shown.size() < 30; at += durations.back()) {
      shown.push_back(at);
      durations.push_back(20'000 + static_cast<std::int64_t>(random() % 3'000'000));
    }
    // A picture is decoded at most `delay` places before its turn.
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < shown.size(); ++i)
      order.push_back(i);
    const auto group = static_cast<std::size_t>(delay) + 1;
    for (std::size_t i = 0; i + group <= order.size(); i += group)
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(i),
                  order.begin() + static_cast<std::ptrdiff_t>(i + random() % group),
                  order.begin() + static_cast<std::ptrdiff_t>(i + group));
    ClockJumps clock;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t lasts = clock.until_next(0, durations[order[i]], delay);
      // Matroska tells no decoding time of the first packets.
      if (i < static_cast<std::size_t>(delay)) continue;
      const std::int64_t decoded = shown[i - static_cast<std::size_t>(delay)];
      EXPECT_EQ(clock.place(0, decoded, lasts, true, std::nullopt), 0) << round;
    }
    EXPECT_TRUE(clock.jumps().empty());
  }
}

TEST(ClockJumps, MoveAllStreamsByTheSameWhereAClockBeginsAnew) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t begin = static_cast<std::int64_t>(random() % 5'000'000);
    const std::size_t parts = 2 + random() % 3;
    std::vector<Packet> packets;
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i < parts; ++i) {
      lengths.push_back(1'500'000 + static_cast<std::int64_t>(random() % 3'000'000));
      const auto more = part(begin, lengths.back(), static_cast<std::int64_t>(random() % 400'000));
      packets.insert(packets.end(), more.begin(), more.end());
    }
    const Placed result = placed(packets, 2);
    ASSERT_EQ(result.jumps.size(), parts - 1) << "round " << round;
    // Times of each stream increase, and distances between the streams are unchanged.
    for (const auto& times : result.times)
      EXPECT_EQ(std::ranges::adjacent_find(times, std::greater_equal()), times.end()) << "round " << round;
    std::size_t picture = 0;
    std::size_t sound = 0;
    for (const std::int64_t length : lengths) {
      EXPECT_EQ(result.times[0][picture], result.times[1][sound]) << "round " << round;
      picture += static_cast<std::size_t>((length + 39'999) / 40'000);
      sound += static_cast<std::size_t>((length + 21'332) / 21'333);
    }
  }
}

TEST(ClockJumps, AreNotSingleTimesThatAreWrong) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<Packet> packets = part(0, 8'000'000, 100'000);
    std::vector<Packet> wrong = packets;
    for (std::size_t i = 40 + random() % 20; i + 10 < wrong.size(); i += 20 + random() % 20)
      wrong[i].decoded += static_cast<std::int64_t>(random() % 8'000'000) - 4'000'000;
    const Placed result = placed(wrong, 2);
    EXPECT_TRUE(result.jumps.empty()) << "round " << round;
    std::vector<std::size_t> at(2);
    for (std::size_t i = 0; i < packets.size(); ++i) {
      const std::size_t stream = packets[i].stream;
      EXPECT_EQ(result.times[stream][at[stream]++], wrong[i].decoded) << "round " << round;
    }
  }
}

TEST(ClockJumps, AreNotGaps) {
  std::vector<Packet> packets = part(0, 1'000'000, 0);
  const auto later = part(100'000'000, 1'000'000, 0);
  packets.insert(packets.end(), later.begin(), later.end());
  const Placed result = placed(packets, 2);
  EXPECT_TRUE(result.jumps.empty());
  EXPECT_EQ(result.times[0][25], 100'000'000);
}

}  // namespace
}  // namespace millrace::video
