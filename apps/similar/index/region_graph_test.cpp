#include "similar/index/region_graph.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

std::vector<Features> random_features(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  std::normal_distribution<float> number(0, 1);
  std::vector<Features> all(count);
  for (Features& features : all)
    for (float& feature : features)
      feature = number(random);
  return all;
}

RegionGraph graph_of(const std::vector<Features>& all) {
  RegionGraph graph;
  for (const Features& features : all)
    EXPECT_TRUE(graph.add(features));
  return graph;
}

std::vector<RegionGraph::Node> nodes_of(const RegionGraph& graph) {
  std::vector<RegionGraph::Node> nodes;
  for (std::size_t i = 0; i < graph.size(); ++i)
    nodes.push_back(graph.node(i));
  return nodes;
}

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> values) {
  std::ranges::sort(values);
  return values;
}

class RegionGraphOfSize : public testing::TestWithParam<std::size_t> {
 protected:
  std::vector<Features> features = random_features(1, GetParam());
  std::vector<Features> queries = random_features(2, 50);
};

TEST_P(RegionGraphOfSize, FindsMostOfTheNearest) {
  const RegionGraph graph = graph_of(features);
  ASSERT_EQ(graph.size(), features.size());
  const std::size_t count = std::min<std::size_t>(10, features.size());
  std::size_t found = 0;
  for (const Features& query : queries) {
    std::vector<std::uint32_t> order(features.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return distance(query, features[i]); });
    const auto answer = sorted(graph.nearest(query, 10));
    ASSERT_EQ(answer.size(), count);
    ASSERT_TRUE(std::ranges::adjacent_find(answer) == answer.end());
    for (std::size_t i = 0; i < count; ++i)
      found += std::ranges::binary_search(answer, order[i]) ? 1U : 0U;
  }
  EXPECT_GE(found, 95 * count * queries.size() / 100);
}

TEST_P(RegionGraphOfSize, IsTheSameWheneverTheRegionsAre) {
  const RegionGraph once = graph_of(features);
  const RegionGraph again = graph_of(features);
  EXPECT_EQ(nodes_of(once), nodes_of(again));
}

TEST_P(RegionGraphOfSize, RestoredAnswersAsBefore) {
  const RegionGraph graph = graph_of(features);
  const auto restored = RegionGraph::restored(features, nodes_of(graph));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(nodes_of(*restored), nodes_of(graph));
  for (const Features& query : queries)
    EXPECT_EQ(restored->nearest(query, 10), graph.nearest(query, 10));
}

INSTANTIATE_TEST_SUITE_P(Sizes, RegionGraphOfSize, testing::Values(0U, 1U, 2U, 9U, 100U, 3000U));

TEST(RegionGraphOfOneFeatureOverAndOver, StillAnswers) {
  const std::vector<Features> same(500, Features{1, 2, 3});
  EXPECT_EQ(graph_of(same).nearest(Features{}, 20).size(), 20U);
}

TEST(RegionGraphRestored, RefusesNodesThatAreNoGraph) {
  const auto features = random_features(3, 300);
  const auto nodes = nodes_of(graph_of(features));
  const auto refused = [&](auto spoil) {
    auto spoilt = nodes;
    spoil(spoilt);
    return !RegionGraph::restored(features, spoilt);
  };
  const auto upper = static_cast<std::size_t>(
      std::ranges::find_if(nodes, [](const auto& node) { return node.links.size() > 1; }) - nodes.begin());
  const auto lower = static_cast<std::uint32_t>(
      std::ranges::find_if(nodes, [](const auto& node) { return node.links.size() == 1; }) - nodes.begin());
  ASSERT_LT(upper, nodes.size());
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& n) { n.pop_back(); }));
  EXPECT_TRUE(refused([](auto& n) { n[7].links.clear(); }));
  EXPECT_TRUE(refused([](auto& n) { n[7].links.resize(33); }));
  EXPECT_TRUE(refused([](auto& n) { n[7].links[0].resize(33, 1); }));
  EXPECT_TRUE(refused([](auto& n) { n[7].links[0][0] = 300; }));
  EXPECT_TRUE(refused([](auto& n) { n[7].links[0][0] = 7; }));
  EXPECT_TRUE(refused([&](auto& n) { n[upper].links[1].assign(17, lower == 0 ? 1 : 0); }));
  EXPECT_TRUE(refused([&](auto& n) { n[upper].links[1] = {lower}; }));
}

}  // namespace
}  // namespace millrace::similar
