#include "millrace/placement/daemon/user_budget.h"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

constexpr std::int64_t whole_second = 1'000'000'000;

// Holds whatever users cause and however it is split up, even for a user who is served whenever permitted.
TEST(UserBudget, KeepsEachUserWithinAFifthOfTheTimeInTheLongRun) {
  for (const std::int64_t most_at_once_ns : {1'000, 20'000, 1'000'000, 50'000'000}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(most_at_once_ns));
    UserBudget budget;
    std::int64_t now = 7;
    std::int64_t took = 0;
    const std::int64_t begun = now;
    while (now - begun < 20 * whole_second) {
      if (budget.rests(1, now)) {
        now = budget.next_ns(now).value();
        continue;
      }
      const auto cost = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most_at_once_ns)) + 1;
      budget.charge(1, cost, now);
      took += cost;
      now += cost;
    }
    EXPECT_LE(static_cast<double>(took), 0.2 * static_cast<double>(now - begun) + 60e6) << most_at_once_ns;
    EXPECT_GE(static_cast<double>(took), 0.1 * static_cast<double>(now - begun)) << most_at_once_ns;
  }
}

TEST(UserBudget, LetsOneUserNotWaitForAnother) {
  UserBudget budget;
  budget.charge(1, whole_second, 0);
  EXPECT_TRUE(budget.rests(1, 0));
  EXPECT_FALSE(budget.rests(2, 0));
  EXPECT_FALSE(budget.next_ns(10 * whole_second));
}

TEST(UserBudget, LetsNobodyWaitForMoreThanItSays) {
  UserBudget budget;
  for (int i = 0; i < 100; ++i)
    budget.charge(1, INT64_MAX, 0);
  EXPECT_FALSE(budget.rests(1, 5 * whole_second));
  EXPECT_FALSE(budget.rests(1, 5 * whole_second + 1));
}

TEST(UserBudget, LetsWhoAsksNowAndThenNeverWait) {
  UserBudget budget;
  for (std::int64_t now = 0; now < whole_second; now += whole_second / 20) {
    EXPECT_FALSE(budget.rests(1, now));
    budget.charge(1, 1'000'000, now);
  }
}

}  // namespace
}  // namespace millrace::placement
