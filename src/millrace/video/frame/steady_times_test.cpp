// Frame times with occasional errors: correct times must stay.
#include "millrace/video/frame/steady_times.h"

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using OwnTimes = std::vector<std::optional<std::int64_t>>;

// Steadies times as a reader does.
std::vector<std::int64_t> steadied(const OwnTimes& times, std::int64_t duration) {
  SteadyTimes steady(duration);
  std::vector<std::int64_t> placed;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::size_t seen = steady.looks_ahead(times[i]) ? SteadyTimes::most_frames : 1;
    const auto place = steady.place(std::span(times).subspan(i, std::min(seen, times.size() - i)));
    placed.push_back(place.value_or(-1));
  }
  return placed;
}

TEST(SteadyTimes, OfFramesThatAreInOrderStay) {
  EXPECT_EQ(steadied({0, 40, 80, 5000, 5001, 9000}, 40),
            (std::vector<std::int64_t>{0, 40, 80, 5000, 5001, 9000}));
  EXPECT_EQ(steadied({-80, -40, 0}, 40), (std::vector<std::int64_t>{-80, -40, 0}));
}

TEST(SteadyTimes, PutADoubledFrameIntoTheGapToTheNext) {
  EXPECT_EQ(steadied({0, 40, 40, 120, 160}, 40), (std::vector<std::int64_t>{0, 40, 80, 120, 160}));
  EXPECT_EQ(steadied({0, 40, 40, 80, 120}, 40), (std::vector<std::int64_t>{0, 40, 60, 80, 120}));
  // The last frame has no successor.
  EXPECT_EQ(steadied({0, 40, 40}, 40), (std::vector<std::int64_t>{0, 40, 80}));
}

TEST(SteadyTimes, LeaveAllOthersWhereTheyAreWhicheverFramesAreWrong) {
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t end) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
  };
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t duration = 16 + below(100);
    OwnTimes right;
    for (std::int64_t at = below(1000); right.size() < 60; at += duration)
      right.emplace_back(at);
    OwnTimes times = right;
    std::set<std::size_t> wrong;
    // Wrong times are far apart and not at the ends.
    for (std::size_t i = 2 + random() % 8; i + 8 < times.size(); i += 7 + random() % 10) {
      wrong.insert(i);
      switch (below(4)) {
      case 0:
        times[i] = times[i - 1];
        break;
      case 1:
        times[i].reset();
        break;
      case 2:
        times[i] = *times[i] + 3 * duration + below(1'000'000);
        break;
      default:
        times[i] = *times[i] - duration - below(1'000'000);
      }
    }
    const std::vector<std::int64_t> placed = steadied(times, duration);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      if (wrong.contains(i)) {
        EXPECT_GT(placed[i], *right[i - 1]) << "round " << round << ", frame " << i;
        EXPECT_LT(placed[i], *right[i + 1]) << "round " << round << ", frame " << i;
      } else {
        EXPECT_EQ(placed[i], *right[i]) << "round " << round << ", frame " << i;
      }
    }
  }
}

// As of a network camera that delivers what waited at once.
TEST(SteadyTimes, AreRightAgainSoonAfterABurst) {
  for (const int length : {2, 5, 6, 7, 13, 60}) {
    OwnTimes times;
    for (int i = 0; i < 25; ++i)
      times.emplace_back(40 * i);
    times.insert(times.end(), static_cast<std::size_t>(length), 40 * 24);
    for (int i = 25; i < 200; ++i)
      times.emplace_back(40 * i);
    const std::vector<std::int64_t> placed = steadied(times, 40);
    EXPECT_EQ(std::ranges::adjacent_find(placed, std::greater_equal()), placed.end()) << length;
    const std::size_t right_again = 25 + static_cast<std::size_t>(3 * length);
    for (std::size_t i = 0; i < placed.size(); ++i)
      if (i < 25 || i >= right_again) {
        EXPECT_EQ(placed[i], *times[i]) << length << ", frame " << i;
      }
  }
}

TEST(SteadyTimes, GrowWhateverComes) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 2000; ++round) {
    OwnTimes times;
    for (int i = 0; i < 40; ++i)
      times.emplace_back(static_cast<std::int64_t>(random() % 50));
    const std::vector<std::int64_t> placed = steadied(times, 1 + static_cast<std::int64_t>(random() % 5));
    EXPECT_EQ(std::ranges::adjacent_find(placed, std::greater_equal()), placed.end()) << "round " << round;
  }
}

}  // namespace
}  // namespace millrace::video
