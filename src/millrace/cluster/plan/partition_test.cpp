#include "millrace/cluster/plan/partition.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Each stage reads the previous one.
StreamLoad chain(const std::vector<double>& seconds, double bytes = 1) {
  StreamLoad stream{.source_bytes = bytes};
  for (const double each : seconds)
    stream.stages.push_back({each, bytes, {static_cast<int>(stream.stages.size()) - 1}});
  return stream;
}

TEST(SplitPlaces, AreWhereOneStreamIsAllThatTravels) {
  EXPECT_THAT(split_places(chain({1, 1, 1}).stages), ElementsAre(1, 2));
  // blur | [sobel_x, sobel_y] | magnitude | binary
  const std::vector<StageLoad> fork{{1, 1, {-1}}, {1, 1, {0}}, {1, 1, {0}}, {1, 1, {1, 2}}, {1, 1, {3}}};
  EXPECT_THAT(split_places(fork), ElementsAre(1, 4));
  // The last stage compares the source with the result.
  const std::vector<StageLoad> source_again{{1, 1, {-1}}, {1, 1, {0}}, {1, 1, {-1, 1}}};
  EXPECT_THAT(split_places(source_again), IsEmpty());
  const std::vector<StageLoad> stage_again{{1, 1, {-1}}, {1, 1, {0}}, {1, 1, {0, 1}}, {1, 1, {2}}};
  EXPECT_THAT(split_places(stage_again), ElementsAre(1, 3));
}

TEST(Partition, WhatAnyNodeCanReadIsDividedByFrames) {
  StreamLoad film = chain({0.1, 0.3});
  film.anywhere = true;
  const Division division = partition(film, {.speeds = {1, 2}});
  EXPECT_EQ(division.kind, Division::Kind::chunks);
  EXPECT_EQ(division.sections, (std::vector<Section>{{0, 2, 0}, {0, 2, 1}}));
  EXPECT_DOUBLE_EQ(division.rate, 7.5);
}

TEST(Partition, UsesTheFewestNodesThatHaveTheRate) {
  StreamLoad live = chain({0.01, 0.01, 0.01, 0.01});
  live.rate = 24;
  EXPECT_EQ(partition(live, {.speeds = {1, 1, 1, 1}}).sections.size(), 1U);
  live.rate = 26;
  const Division two = partition(live, {.speeds = {1, 1, 1, 1}});
  EXPECT_EQ(two.sections.size(), 2U);
  EXPECT_NEAR(two.rate, 50, 1e-9);
  live.rate = 1000;
  const Division all = partition(live, {.speeds = {1, 1, 1, 1, 1}});
  EXPECT_EQ(all.sections.size(), 4U) << "more nodes than stages gain nothing";
  EXPECT_NEAR(all.rate, 100, 1e-9);
}

TEST(Partition, AFasterNodeDoesMore) {
  const Division division = partition(chain({1, 1, 1, 1}), {.speeds = {1, 3}});
  EXPECT_EQ(division.sections.size(), 2U);
  for (const Section& section : division.sections)
    EXPECT_EQ(section.stages, section.node == 1 ? 3U : 1U);
  EXPECT_DOUBLE_EQ(division.rate, 1);
}

TEST(Partition, ASlowLinkIsNotUsed) {
  StreamLoad live = chain({1, 1, 1}, 100);
  live.stages[0].bytes = 1000;  // needs a fast link
  const double slow = 100;
  const double fast = 1e9;
  // 0 and 1 are close to each other, and 2 is far from both; source and sink are close to all.
  const NodeLoads nodes{.speeds = {1, 1, 1},
                        .links = {{fast, fast, slow, fast},
                                  {fast, fast, slow, fast},
                                  {slow, slow, fast, fast},
                                  {fast, fast, fast, fast}}};
  const Division division = partition(live, nodes);
  for (std::size_t i = 1; i < division.sections.size(); ++i)
    if (division.sections[i].first == 1) {
      EXPECT_NE(division.sections[i].node, 2U);
      EXPECT_NE(division.sections[i - 1].node, 2U);
    }
  EXPECT_DOUBLE_EQ(division.rate, 1);
}

TEST(Partition, SoManySectionsAsAreAskedFor) {
  StreamLoad live = chain({1, 1, 1});
  for (const int sections : {1, 2, 3}) {
    live.sections = sections;
    EXPECT_EQ(partition(live, {.speeds = {1, 1, 1, 1}}).sections.size(), static_cast<std::size_t>(sections));
  }
  live.sections = 9;
  EXPECT_EQ(partition(live, {.speeds = {1, 1, 1, 1}}).sections.size(), 3U) << "there are no more places";
}

// The best period of any split, by exhaustive search.
double best_period(const StreamLoad& stream, const NodeLoads& nodes, std::size_t first,
                   std::vector<bool> used, std::size_t from, double bytes) {
  const std::size_t home = nodes.speeds.size();
  if (first == stream.stages.size()) return bytes / nodes.links[from][home];
  double best = std::numeric_limits<double>::infinity();
  double seconds = 0;
  for (std::size_t end = first + 1; end <= stream.stages.size(); ++end) {
    seconds += stream.stages[end - 1].seconds;
    for (std::size_t node = 0; node < nodes.speeds.size(); ++node) {
      if (used[node]) continue;
      std::vector<bool> now = used;
      now[node] = true;
      const double own = std::max(seconds / nodes.speeds[node], bytes / nodes.links[from][node]);
      best = std::min(
          best, std::max(own, best_period(stream, nodes, end, now, node, stream.stages[end - 1].bytes)));
    }
  }
  return best;
}

TEST(Partition, NoCutIsFaster) {
  std::mt19937_64 random(3);
  const auto up_to = [&](double most) { return std::uniform_real_distribution(0.05, most)(random); };
  for (int round = 0; round < 100; ++round) {
    StreamLoad stream = chain(std::vector<double>(1 + random() % 4), 1);
    stream.source_bytes = up_to(3);
    for (StageLoad& stage : stream.stages) {
      stage.seconds = up_to(1);
      stage.bytes = up_to(3);
    }
    NodeLoads nodes;
    nodes.speeds.resize(1 + random() % 4);
    for (double& speed : nodes.speeds)
      speed = up_to(3);
    nodes.links.assign(nodes.speeds.size() + 1, std::vector<double>(nodes.speeds.size() + 1));
    for (auto& row : nodes.links)
      for (double& link : row)
        link = up_to(20);
    const Division division = partition(stream, nodes);
    const double best = best_period(stream, nodes, 0, std::vector<bool>(nodes.speeds.size()),
                                    nodes.speeds.size(), stream.source_bytes);
    EXPECT_NEAR(division.rate * best, 1, 1e-9);
    // All stages, in order, each node once.
    std::size_t next = 0;
    std::vector<std::size_t> used;
    for (const Section& section : division.sections) {
      EXPECT_EQ(section.first, next);
      EXPECT_GE(section.stages, 1U);
      next += section.stages;
      EXPECT_THAT(used, ::testing::Not(::testing::Contains(section.node)));
      used.push_back(section.node);
    }
    EXPECT_EQ(next, stream.stages.size());
  }
}

TEST(Partition, PipelinesOfManyStagesOnManyNodesAreDividedToo) {
  std::vector<double> seconds(200, 0.001);
  const Division division = partition(chain(seconds), {.speeds = std::vector<double>(40, 1)});
  EXPECT_GT(division.sections.size(), 5U);
  EXPECT_GT(division.rate, 30) << "of 50, if stages could be shared out evenly";
}

}  // namespace
}  // namespace millrace::cluster
