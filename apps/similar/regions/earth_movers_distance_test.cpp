#include "similar/regions/earth_movers_distance.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

std::vector<Region> random_regions(std::mt19937& random, std::size_t count) {
  std::uniform_real_distribution<float> number(0, 1);
  std::vector<Region> regions(count);
  float sum = 0;
  for (Region& region : regions) {
    for (float& feature : region.features)
      feature = 4 * number(random);
    region.weight = 0.05F + number(random);
    sum += region.weight;
  }
  for (Region& region : regions)
    region.weight /= sum;
  return regions;
}

// With equal weights an optimum moves each region whole, so trying all pairings finds it.
double best_pairing(const std::vector<Region>& a, const std::vector<Region>& b) {
  std::vector<std::size_t> order(b.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = std::numeric_limits<double>::infinity();
  do {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      sum += distance(a[i].features, b[order[i]].features);
    best = std::min(best, sum / static_cast<double>(a.size()));
  } while (std::ranges::next_permutation(order).found);
  return best;
}

class EarthMoversDistance : public testing::TestWithParam<unsigned> {
 protected:
  std::mt19937 random{GetParam()};
  std::vector<Region> some() { return random_regions(random, 1 + random() % 12); }
};

TEST_P(EarthMoversDistance, IsTheBestOfAllPairingsForEqualWeights) {
  const std::size_t count = 1 + random() % 6;
  auto a = random_regions(random, count);
  auto b = random_regions(random, count);
  for (std::size_t i = 0; i < count; ++i)
    a[i].weight = b[i].weight = 1.0F / static_cast<float>(count);
  EXPECT_NEAR(earth_movers_distance(a, b), best_pairing(a, b), 1e-5);
}

TEST_P(EarthMoversDistance, IsNoneToItself) {
  auto a = some();
  EXPECT_NEAR(earth_movers_distance(a, a), 0, 1e-5);
  auto reordered = a;
  std::ranges::shuffle(reordered, random);
  EXPECT_NEAR(earth_movers_distance(a, reordered), 0, 1e-5);
}

TEST_P(EarthMoversDistance, IsAMetric) {
  const auto a = some();
  const auto b = some();
  const auto c = some();
  const double ab = earth_movers_distance(a, b);
  EXPECT_NEAR(ab, earth_movers_distance(b, a), 1e-5);
  EXPECT_LE(earth_movers_distance(a, c), ab + earth_movers_distance(b, c) + 1e-3);
}

TEST_P(EarthMoversDistance, DoesNotChangeWhenARegionIsSplit) {
  const auto a = some();
  const auto b = some();
  auto split = a;
  split.front().weight /= 2;
  split.push_back(split.front());
  EXPECT_NEAR(earth_movers_distance(a, b), earth_movers_distance(split, b), 1e-5);
}

TEST_P(EarthMoversDistance, IsNotBelowTheDistanceOfTheCentroids) {
  const auto a = some();
  const auto b = some();
  EXPECT_GE(earth_movers_distance(a, b) + bound_slack, distance(centroid(a), centroid(b)));
}

INSTANTIATE_TEST_SUITE_P(Random, EarthMoversDistance, testing::Range(0U, 40U));

}  // namespace
}  // namespace millrace::similar
