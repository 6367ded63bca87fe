#include "millrace/machine/limits/cpu_times.h"

#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

CpuSet set_of(const char* list) { return *CpuSet::parse(list); }

constexpr const char* before = "cpu  300 0 30 600 10 0 0 0 0 0\n"
                               "cpu0 100 0 10 200 10 0 0 0 0 0\n"
                               "cpu1 200 0 20 400 0 0 0 0 0 0\n"
                               "cpu11 1 1 1 1 1 1 1 1 1 1\nintr 1 2 3\n";
constexpr const char* after = "cpu  450 0 30 650 10 0 0 0 0 0\n"
                              "cpu0 125 0 10 250 35 0 0 0 25 0\n"
                              "cpu1 300 0 20 400 0 0 0 0 0 0\n";

TEST(CpuTimes, AreThoseOfTheCpusAskedFor) {
  const auto share = [](const char* cpus) {
    return busy_share(*parse_cpu_times(before, set_of(cpus)), *parse_cpu_times(after, set_of(cpus)));
  };
  EXPECT_DOUBLE_EQ(*share("0"), 0.25);  // 25 of 100; waiting for a disk counts as idle
  EXPECT_DOUBLE_EQ(*share("1"), 1.0);
  EXPECT_DOUBLE_EQ(*share("0-1"), 0.625);
  EXPECT_FALSE(parse_cpu_times(before, set_of("7")));
  EXPECT_DOUBLE_EQ(parse_cpu_times(before, set_of("11"))->all, 8);
}

TEST(CpuTimes, OfNoTimeOrNonsenseSayNothing) {
  EXPECT_FALSE(busy_share({}, {}));
  EXPECT_FALSE(busy_share({.busy = 5, .all = 10}, {.busy = 5, .all = 9}));
  for (const char* text : {"", "cpu0", "cpu0 x y z", "cpux 1 2", "\n\n"}) {
    const auto times = parse_cpu_times(text, set_of("0"));
    EXPECT_EQ(times.value_or(CpuTimes{}).all, 0) << text;
  }
}

TEST(CpuTimes, AreReadHere) {
  const auto now = read_cpu_times(set_of("0-1023"));
  ASSERT_TRUE(now);
  EXPECT_GT(now->all, 0);
}

TEST(CpuTimes, LoadIsTheBusyShareBetweenTwoReadings) {
  constexpr auto* before =
      "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu3 0 0 0 10 0 0 0 0 0 0\nintr 1";
  constexpr auto* after =
      "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 130 0 0 110 0 0 0 0 0 0\ncpu3 0 0 0 30 0 0 0 0 0 0\nintr 1";
  const auto load = parse_load(before, after);
  ASSERT_EQ(load.size(), 4U);
  EXPECT_DOUBLE_EQ(load[0], 0.75);
  EXPECT_DOUBLE_EQ(load[1], 0);
  EXPECT_DOUBLE_EQ(load[3], 0);
  EXPECT_TRUE(parse_load("", "").empty());
}

}  // namespace
}  // namespace millrace::machine
