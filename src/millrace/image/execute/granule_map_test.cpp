#include "millrace/image/execute/granule_map.h"
#include "millrace/pool/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

constexpr Size plane{37, 23};
constexpr int granule_count = 10 * 8;  // granules of 4 x 3

GranuleMap map_of_small_granules() { return {plane, {4, 3}}; }

TEST(GranuleMap, coversThePlaneWithGranulesThatDoNotOverlap) {
  for (const Size size : {Size{4, 3}, Size{0, 1}, Size{1, 0}, Size{0, 0}, Size{64, 64}, Size{37, 23}}) {
    const GranuleMap map(plane, size);
    std::vector<int> times(plane.width * plane.height);
    const Rect all = map.touched(whole(plane));
    for (int row = all.y0; row < all.y1; ++row) {
      for (int column = all.x0; column < all.x1; ++column) {
        const Rect granule = map.granule(column, row);
        for (int y = granule.y0; y < granule.y1; ++y) {
          for (int x = granule.x0; x < granule.x1; ++x)
            ++times[y * plane.width + x];
        }
      }
    }
    EXPECT_EQ(times, std::vector<int>(times.size(), 1)) << size.width << " x " << size.height;
  }
}

TEST(GranuleMap, givesEachGranuleToOneAlone) {
  GranuleMap map = map_of_small_granules();
  EXPECT_FALSE(map.valid(79));
  auto claim = map.claim(79);
  ASSERT_TRUE(claim);
  EXPECT_FALSE(map.claim(79));
  EXPECT_FALSE(map.valid(79));
  EXPECT_TRUE(map.claim(78)) << "one granule is like another";
  claim->computed();
  EXPECT_TRUE(map.valid(79));
  EXPECT_FALSE(map.claim(79));
  EXPECT_FALSE(map.await(79));
  map.clear();
  EXPECT_FALSE(map.valid(79));
  EXPECT_TRUE(map.claim(79));
}

TEST(GranuleMap, givesAGranuleToAnotherWhereItsClaimWasDropped) {
  GranuleMap map = map_of_small_granules();
  {
    const auto dropped = map.claim(3);
  }
  EXPECT_FALSE(map.valid(3));
  auto second = map.await(3);
  ASSERT_TRUE(second);
  second->computed();
  EXPECT_TRUE(map.valid(3));
}

// Like real workers: each computes missing granules in an order of its own, and some fail.
TEST(GranuleMap, hasEachGranuleComputedOnceWhileWorkersWantAllOfThem) {
  constexpr int workers = 4;
  auto pool = pool::WorkerPool::create(workers);
  ASSERT_TRUE(pool) << pool.error().message;
  GranuleMap map = map_of_small_granules();
  std::vector<int> values(granule_count);
  for (int round = 0; round < 300; ++round) {
    map.clear();
    std::ranges::fill(values, 0);
    const bool one_fails = round % 3 == 0;
    const Status done = (*pool)->team().run([&](int rank) {
      std::mt19937 random(round * workers + rank);
      std::vector<int> order(granule_count);
      std::ranges::generate(order, [next = 0]() mutable { return next++; });
      std::ranges::shuffle(order, random);
      const auto compute = [&](std::optional<GranuleMap::Claim> claim, int index) {
        if (!claim) return;
        if (one_fails && rank == 1 && random() % 8 == 0) throw std::runtime_error("refused");
        // Longer than other threads spin.
        if (random() % 40 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        values[index] += index + 1;
        claim->computed();
      };
      for (const int index : order) {
        compute(map.claim(index), index);
        compute(map.await(index), index);
        if (values[index] != index + 1) throw std::logic_error("no value, or computed twice");
      }
    });
    const std::string said = done ? "" : done.error().message;
    ASSERT_TRUE(said.empty() || (one_fails && said.find("refused") != std::string::npos)) << said;
    for (int index = 0; index < granule_count; ++index)
      ASSERT_EQ(values[index], index + 1) << "round " << round;
  }
}

}  // namespace
}  // namespace millrace::image
