#include "millrace/run/video/cpu_use.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <sched.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

TEST(CpuUse, TellsOtherProgramsFromTheOwnCodecs) {
  // Two workers that always had work, and a CPU for a quarter of the time.
  CpuUse use{.ran = 5, .waited = 15, .process = 6, .wall = 10, .cpus = 2};
  EXPECT_DOUBLE_EQ(waiting_share(use), 0.75);
  EXPECT_TRUE(lacks_cpus(use));
  EXPECT_THAT(describe(use), HasSubstr("75 % of their time for a CPU, as other programs used them"));
  EXPECT_THAT(describe(use), HasSubstr("30 % of 2 CPUs"));
  use.process = 19;
  EXPECT_FALSE(lacks_cpus(use));
  EXPECT_THAT(describe(use), HasSubstr("more busy threads than CPUs"));
}

TEST(CpuUse, IsNotToldWhereWorkersHardlyWaited) {
  for (const double waited : {0.0, 0.01, 0.5}) {
    const CpuUse use{.ran = 9, .waited = waited, .process = 1, .wall = 10, .cpus = 2};
    EXPECT_FALSE(lacks_cpus(use));
    EXPECT_EQ(describe(use), "");
  }
  EXPECT_EQ(describe({}), "");
  EXPECT_EQ(describe({.ran = 0, .waited = 0, .process = 0, .wall = 0, .cpus = 0}), "");
}

// Threads pinned to one CPU take batches; the kernel counts their waiting.
TEST(CpuWatch, SeesTheCallersWaitForACpuThatOthersHave) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> batches = 0;
  std::thread other([&] {
    while (!stop)
      ++batches;
  });
  const CpuWatch watch;
  const std::int64_t begin = batches;
  // Until the other thread has run and this one has waited.
  std::optional<CpuUse> use;
  do {
    use = watch.since_then(1);
    ASSERT_TRUE(use);
  } while (use->waited <= 0 || batches == begin);
  stop = true;
  other.join();
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GT(use->ran, 0);
  EXPECT_LE(use->ran + use->waited, use->wall + 0.1);
  EXPECT_GE(use->process, 0);
}

}  // namespace
}  // namespace millrace::run
