#include "millrace/placement/learn.h"

#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

const Plan batch{.scheduling_class = machine::SchedulingClass::batch};
const Plan long_slice{.slice_ns = 20'000'000};
const Plan one_to_one{.masks = MaskPolicy::one_to_one};

struct Found {
  Plan plan;
  int runs = 0;
};

Found search(const std::function<double(const Plan&)>& seconds, double noise, int runs, unsigned seed) {
  PlanSearch search({batch, long_slice, one_to_one}, runs, seed);
  std::mt19937 random(seed);
  std::normal_distribution<double> scatter(0, noise);
  Found found;
  while (const auto plan = search.next()) {
    search.tell(seconds(*plan) * std::exp(scatter(random)) * (1 + 0.002 * found.runs));
    ++found.runs;
  }
  found.plan = search.best();
  return found;
}

TEST(PlanSearch, FindsTheFastestPlan) {
  int right = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const auto found =
        search([](const Plan& plan) { return plan == batch        ? 0.85
                                             : plan == long_slice ? 0.95
                                                                  : 1; }, 0.04,
               24, seed);
    EXPECT_LE(found.runs, 24);
    if (found.plan == batch) ++right;
  }
  EXPECT_GE(right, 90);
}

TEST(PlanSearch, SeldomFindsSomethingWhereThereIsNothing) {
  int wrong = 0;
  for (unsigned seed = 1; seed <= 200; ++seed)
    if (!search([](const Plan&) { return 1.0; }, 0.04, 32, seed).plan.untouched()) ++wrong;
  EXPECT_LE(wrong, 10);  // three candidates at 0.5 % each, and the rounds that remove others
}

TEST(PlanSearch, EndsEarlyWhenEverythingIsWorse) {
  const auto found = search([](const Plan& plan) { return plan.untouched() ? 1.0 : 1.4; }, 0.02, 100, 7);
  EXPECT_TRUE(found.plan.untouched());
  EXPECT_LT(found.runs, 30);
}

TEST(PlanSearch, RunsNothingThatItCannotCompare) {
  const auto found = search([](const Plan&) { return 1.0; }, 0.02, 3, 7);
  EXPECT_EQ(found.runs, 0);
  EXPECT_TRUE(found.plan.untouched());
}

}  // namespace
}  // namespace millrace::placement
