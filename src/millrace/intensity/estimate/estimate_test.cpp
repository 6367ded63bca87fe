#include "millrace/intensity/estimate/footprint.h"
#include "millrace/intensity/estimate/overlap.h"
#include "millrace/intensity/estimate/thread_samples.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::intensity {
namespace {

using machine::SharedUnit;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr CacheSizes caches{.l1 = 32 * kib, .l2 = 512 * kib, .llc = 32 * mib};
constexpr std::uint64_t somewhere = 0x7f0000000000;
constexpr int rounds = 40;

using Random = std::mt19937_64;

std::vector<std::uint64_t> at_random(std::uint64_t bytes, std::size_t count, Random& random,
                                     std::uint64_t from = somewhere) {
  std::vector<std::uint64_t> addresses(count);
  for (std::uint64_t& address : addresses)
    address = from + random() % bytes / 8 * 8;
  return addresses;
}

// A repeated walk from front to back, with long steps between two samples.
std::vector<std::uint64_t> in_order(std::uint64_t bytes, std::size_t count, Random& random) {
  std::vector<std::uint64_t> addresses(count);
  std::uint64_t at = random() % bytes;
  for (std::uint64_t& address : addresses) {
    at = (at + 90 * mib + random() % (20 * mib)) % bytes;
    address = somewhere + at / 8 * 8;
  }
  return addresses;
}

struct Walk {
  std::uint64_t bytes;
  SharedUnit level;
};

class Footprint : public testing::TestWithParam<Walk> {};

TEST_P(Footprint, Of200SamplesIsInTheRightLevelHoweverMemoryIsWalkedThrough) {
  Random random(1);  // NOLINT(cert-msc51-cpp): the same each time
  int right = 0;
  for (int round = 0; round < rounds; ++round)
    for (const auto& walk :
         {at_random(GetParam().bytes, 200, random, somewhere), in_order(GetParam().bytes, 200, random)})
      right += level_of(footprint_bytes(walk, caches.l1), caches) == GetParam().level ? 1 : 0;
  EXPECT_GE(right, 2 * rounds * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Footprint,
                         testing::Values(Walk{4 * kib, SharedUnit::l1}, Walk{24 * kib, SharedUnit::l1},
                                         Walk{128 * kib, SharedUnit::l2}, Walk{320 * kib, SharedUnit::l2},
                                         Walk{2 * mib, SharedUnit::llc}, Walk{16 * mib, SharedUnit::llc},
                                         Walk{64 * mib, SharedUnit::dram}, Walk{256 * mib, SharedUnit::dram},
                                         Walk{4096 * mib, SharedUnit::dram}),
                         [](const auto& info) { return std::to_string(info.param.bytes / kib) + "K"; });

TEST(FootprintOfAFew, IsNoMoreThanWhatTheyTouch) {
  EXPECT_EQ(footprint_bytes({}, caches.l1), 0);
  EXPECT_LE(footprint_bytes(std::vector<std::uint64_t>(200, somewhere), caches.l1), 64);
}

TEST(FootprintOfAFew, FarApartIsWhatTheirLinesTake) {
  Random random(1);  // NOLINT(cert-msc51-cpp)
  std::vector<std::uint64_t> addresses(200);
  for (std::uint64_t& address : addresses)
    address = somewhere + random() % 20 * 64 * mib;
  EXPECT_LE(footprint_bytes(addresses, caches.l1), 20 * 64);
}

TEST(FootprintBesideAHotPage, IsTheRestOfIt) {
  Random random(1);  // NOLINT(cert-msc51-cpp)
  for (int round = 0; round < rounds; ++round) {
    auto addresses = at_random(256 * mib, 100, random);
    const auto hot = at_random(4 * kib, 100, random, 0x10000);
    for (std::size_t i = 0; i < hot.size(); ++i)
      addresses.insert(addresses.begin() + static_cast<std::ptrdiff_t>(2 * i), hot[i]);
    EXPECT_EQ(level_of(footprint_bytes(addresses, caches.l1), caches), SharedUnit::dram);
    std::ranges::shuffle(addresses, random);
    EXPECT_NEAR(share_of_hot_pages(addresses, caches.l1), 0.5, 0.1);
  }
}

TEST(HotPages, AreNoneWhereNoPageIsUsedMoreThanAnother) {
  Random random(1);  // NOLINT(cert-msc51-cpp)
  double sum = 0;
  for (int round = 0; round < rounds; ++round)
    sum += share_of_hot_pages(at_random(512 * kib, 200, random), caches.l1);
  EXPECT_NEAR(sum / rounds, 32.0 / 512, 0.03);
}

class Overlap : public testing::TestWithParam<int> {};

// Two threads that take this percentage of their data from the same 32 MiB and the rest from their own 32
// MiB. By definition, that part of their shares is the same.
TEST_P(Overlap, IsWithinATenthOfWhatTwoThreadsShare) {
  Random random(1);  // NOLINT(cert-msc51-cpp)
  const auto thread = [&](std::uint64_t own) {
    std::vector<std::uint64_t> addresses;
    for (int i = 0; i < 600; ++i)
      addresses.push_back(
          at_random(32 * mib, 1, random, static_cast<int>(random() % 100) < GetParam() ? somewhere : own)[0]);
    return addresses;
  };
  int right = 0;
  for (int round = 0; round < rounds; ++round)
    right += std::abs(overlap(thread(0x100000000), thread(0x200000000)) - GetParam() / 100.0) <= 0.1 ? 1 : 0;
  EXPECT_GE(right, rounds * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(Percent, Overlap, testing::Values(0, 25, 50, 75, 100),
                         [](const auto& info) { return std::to_string(info.param); });

TEST(OverlapOfAFew, IsNothing) {
  const std::vector<std::uint64_t> few(10, somewhere);
  EXPECT_EQ(overlap(few, few), 0);
}

CodePlace computing(SharedUnit unit) {
  CodePlace place;
  (unit == SharedUnit::fp ? place.fp : unit == SharedUnit::simd ? place.simd : place.integer) = 1;
  return place;
}

CodePlace loading() {
  return {.integer = 0.5, .memory = 0.5, .at_load = 1, .chance_at_load = 0.5, .data = {}};
}

TEST(Samples, OfTooFewSayNothing) {
  ThreadSamples samples;
  for (std::size_t i = 0; i < ThreadSamples::fewest; ++i) {
    EXPECT_FALSE(samples.estimate(caches).demand);
    samples.add(computing(SharedUnit::integer), {});
  }
  EXPECT_TRUE(samples.estimate(caches).demand);
  samples.clear();
  EXPECT_FALSE(samples.estimate(caches).demand);
}

TEST(Samples, WithoutCodeAreCountedAndSayNothing) {
  ThreadSamples samples;
  for (int i = 0; i < 100; ++i)
    samples.add(std::nullopt, {});
  EXPECT_EQ(samples.seen(), 100);
  EXPECT_FALSE(samples.estimate(caches).demand);
}

TEST(Samples, GiveEachUnitItsShareAndMakeAWhole) {
  ThreadSamples samples;
  for (int i = 0; i < 100; ++i)
    samples.add(computing(i < 60 ? SharedUnit::fp : i < 90 ? SharedUnit::simd : SharedUnit::integer), {});
  const auto demand = samples.estimate(caches).demand.value();
  EXPECT_NEAR(demand[SharedUnit::fp], 0.6, 1e-6);
  EXPECT_NEAR(demand[SharedUnit::simd], 0.3, 1e-6);
  EXPECT_NEAR(demand[SharedUnit::integer], 0.1, 1e-6);
  EXPECT_TRUE(check(demand));
}

TEST(Samples, PutWaitingForDataInTheLevelThatHoldsThem) {
  Random random(1);  // NOLINT(cert-msc51-cpp)
  struct Level {
    std::uint64_t bytes;
    SharedUnit unit;
  };
  for (const auto& [bytes, unit] : {Level{256 * kib, SharedUnit::l2}, Level{8 * mib, SharedUnit::llc},
                                    Level{512 * mib, SharedUnit::dram}}) {
    ThreadSamples samples;
    for (const std::uint64_t address : at_random(bytes, 200, random))
      samples.add(loading(), address);
    const auto demand = samples.estimate(caches).demand.value();
    EXPECT_GT(demand[unit], 0.8) << name_of(unit);
    EXPECT_TRUE(check(demand));
  }
}

// Half of the samples are at loads because half of the instructions are loads: the caches deliver in time.
TEST(Samples, AtLoadsNoOftenerThanByChanceDoNotWait) {
  Random random(1);  // NOLINT(cert-msc51-cpp)
  ThreadSamples samples;
  for (const std::uint64_t address : at_random(8 * mib, 200, random)) {
    CodePlace place = loading();
    place.at_load = address / 8 % 2 == 0 ? 1 : 0;
    samples.add(place, address);
  }
  EXPECT_LT(samples.estimate(caches).demand.value()[SharedUnit::llc], 0.2);
}

TEST(Samples, OfDataInTheL1TakeWhatTheirInstructionsTake) {
  Random random(1);  // NOLINT(cert-msc51-cpp)
  ThreadSamples samples;
  for (const std::uint64_t address : at_random(8 * kib, 200, random))
    samples.add(loading(), address);
  const auto demand = samples.estimate(caches).demand.value();
  EXPECT_NEAR(demand[SharedUnit::l1], 0.5, 1e-6);
  EXPECT_NEAR(demand[SharedUnit::integer], 0.5, 1e-6);
}

TEST(Samples, FollowWhatTheThreadDoesNow) {
  ThreadSamples samples;
  for (std::size_t i = 0; i < ThreadSamples::most; ++i)
    samples.add(computing(SharedUnit::integer), somewhere);
  for (std::size_t i = 0; i < ThreadSamples::most; ++i)
    samples.add(computing(SharedUnit::fp), somewhere + i);
  EXPECT_NEAR(samples.estimate(caches).demand.value()[SharedUnit::fp], 1, 1e-6);
  EXPECT_EQ(samples.addresses().size(), 400U);
  EXPECT_EQ(samples.addresses().back(), somewhere + ThreadSamples::most - 1);
}

}  // namespace
}  // namespace millrace::intensity
