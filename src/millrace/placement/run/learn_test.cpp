#include "millrace/base/numbers/median.h"
#include "millrace/placement/run/learn.h"
#include "millrace/placement/trials/plans_testing.h"

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

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

// Scatter of run times, as measured for encoders that run a second or two.
class SearchWithNoise : public testing::TestWithParam<double> {};

TEST_P(SearchWithNoise, FindsTheFastestPlan) {
  int right = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const auto found =
        search([](const Plan& plan) { return plan == batch        ? 0.85
                                             : plan == long_slice ? 0.98
                                                                  : 1; },
               GetParam(), 40, seed);
    EXPECT_LE(found.runs, 40);
    if (found.plan == batch) ++right;
  }
  EXPECT_GE(right, 85);
}

TEST_P(SearchWithNoise, SeldomFindsSomethingWhereThereIsNothing) {
  int wrong = 0;
  for (unsigned seed = 1; seed <= 400; ++seed)
    if (!search([](const Plan&) { return 1.0; }, GetParam(), 40, seed).plan.untouched()) ++wrong;
  EXPECT_LE(wrong, 22);  // the upper 2.5 %, as far as 400 runs can tell, plus some for the limits on outliers
}

TEST_P(SearchWithNoise, HardlyEverTakesASlowerPlan) {
  int wrong = 0;
  for (unsigned seed = 1; seed <= 400; ++seed)
    if (!search([](const Plan& plan) { return plan.untouched() ? 1.0 : 1.03; }, GetParam(), 40, seed)
             .plan.untouched())
      ++wrong;
  EXPECT_LE(wrong, 6);
}

INSTANTIATE_TEST_SUITE_P(Scatter, SearchWithNoise, testing::Values(0.01, 0.03, 0.07), [](const auto& tested) {
  return "of_" + std::to_string(std::lround(1000 * tested.param));
});

TEST(PlanSearch, EndsEarlyWhenEverythingIsWorse) {
  const auto found = search([](const Plan& plan) { return plan.untouched() ? 1.0 : 1.4; }, 0.02, 100, 7);
  EXPECT_TRUE(found.plan.untouched());
  EXPECT_LT(found.runs, 60);
}

TEST(PlanSearch, EndsWhenTheRunsThatAreLeftCannotMakeAWinner) {
  int ended_early = 0;
  for (unsigned seed = 1; seed <= 50; ++seed)
    if (search([](const Plan&) { return 1.0; }, 0.005, 60, seed).runs < 60) ++ended_early;
  EXPECT_GE(ended_early, 40);
}

// x264's gain from class batch on two cores, and the scatter of its one-second runs.
TEST(PlanSearch, IsSureOfAGainOfAFifthWithinSixteenRuns) {
  std::vector<double> runs;
  for (unsigned seed = 1; seed <= 101; ++seed) {
    const auto found =
        search([](const Plan& plan) { return plan == one_to_one ? 1.0
                                             : plan.untouched() ? 1.0
                                                                : 0.83; },
               0.05, 60, seed);
    EXPECT_FALSE(found.plan.untouched()) << seed;
    runs.push_back(found.runs + 1);  // plus the first run, which reads the files
  }
  EXPECT_LE(median(runs), 16);
}

class SearchAmong : public testing::TestWithParam<std::size_t> {};

TEST_P(SearchAmong, FindsTheOnlyOneThatGainsWhereverItStands) {
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < GetParam(); ++i)
    plans.push_back({.slice_ns = static_cast<std::int64_t>(1'000'000 * (i + 1))});
  PlanSearch search(plans, 120, 5);
  int runs = 0;
  while (const auto plan = search.next()) {
    search.tell((*plan == plans.back() ? 0.8 : 1.0) * (1 + 0.001 * (++runs % 7)));
  }
  EXPECT_EQ(search.best(), plans.back());
  EXPECT_NEAR(search.gain()->mean, std::log(1 / 0.8), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Candidates, SearchAmong, testing::Range<std::size_t>(1, 9));

TEST(PlanSearch, WinsWithTheLeastRuns) {
  PlanSearch search({batch, long_slice}, PlanSearch::least_runs(), 5);
  while (const auto plan = search.next())
    search.tell(*plan == batch ? 0.8 : 1.0);
  EXPECT_EQ(search.best(), batch);
}

TEST(PlanSearch, RunsNothingThatItCannotCompare) {
  const auto found = search([](const Plan&) { return 1.0; }, 0.02, PlanSearch::least_runs() - 1, 7);
  EXPECT_EQ(found.runs, 0);
  EXPECT_TRUE(found.plan.untouched());
}

TEST(Learning, IsDisturbedWhereMoreThanAQuarterOfTheRunsAreBesideOthers) {
  EXPECT_FALSE(disturbed(1, 0));
  EXPECT_TRUE(disturbed(1, 1));
  EXPECT_FALSE(disturbed(40, 10));
  EXPECT_TRUE(disturbed(40, 11));
}

}  // namespace
}  // namespace millrace::placement
