// Tests the parts that turn frames into estimates: objective, noise level, expected improvement, cost model.
#include "millrace/tuning/estimate/cost_model.h"
#include "millrace/tuning/estimate/expected_improvement.h"
#include "millrace/tuning/estimate/noise_level.h"
#include "millrace/tuning/estimate/recent_costs.h"
#include "millrace/tuning/space/objective.h"
#include "millrace/tuning/space/simulated_workload_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

TEST(Objective, ThroughputCountsTheTimeForEachFrameOfABatch) {
  const Objective objective;
  EXPECT_DOUBLE_EQ(objective.log_cost({.frames = 4, .seconds = 0.2}, 2), std::log(0.05));
}

TEST(Objective, LatencyCountsTheWholeBatch) {
  const Objective objective{.aim = Aim::latency};
  EXPECT_DOUBLE_EQ(objective.log_cost({.frames = 4, .seconds = 0.2}, 2), std::log(0.2));
  EXPECT_DOUBLE_EQ(objective.log_cost({.frames = 4, .seconds = 0.2, .latency = 0.3}, 2), std::log(0.3));
}

TEST(Objective, OnlyResourcesCountBelowTheDeadlineAndLatenessOutweighsThemAbove) {
  const Objective objective{.aim = Aim::deadline, .deadline = 0.04};
  EXPECT_EQ(objective.log_cost({.seconds = 0.001}, 2), objective.log_cost({.seconds = 0.031}, 2));
  EXPECT_LT(objective.log_cost({.seconds = 0.031}, 1), objective.log_cost({.seconds = 0.001}, 2));
  EXPECT_LT(objective.log_cost({.seconds = 0.03}, 8), objective.log_cost({.seconds = 0.041}, 1));
  EXPECT_LT(objective.log_cost({.seconds = 0.06}, 4), objective.log_cost({.seconds = 0.08}, 2));
}

TEST(Objective, ThroughputsSummaryIsNotMovedByOneOutlierAndLatencysIs) {
  const std::vector<double> calm = {1.0, 1.0, 1.1, 1.1, 1.2};
  const std::vector<double> outlier = {1.0, 1.0, 1.1, 1.1, 9.0};
  const Objective throughput;
  const Objective latency{.aim = Aim::latency};
  EXPECT_DOUBLE_EQ(throughput.summary(calm), throughput.summary(outlier));
  EXPECT_GT(latency.summary(outlier), latency.summary(calm) + 1);
}

TEST(Objective, ASummaryLiesBetweenTheLeastAndTheGreatest) {
  for (const Aim aim : {Aim::throughput, Aim::latency, Aim::deadline}) {
    std::vector<double> values;
    for (int n = 1; n <= 16; ++n) {
      values.push_back(n);
      const double summary = Objective{.aim = aim, .deadline = 1}.summary(values);
      EXPECT_GE(summary, 1);
      EXPECT_LE(summary, n);
    }
  }
}

class NoiseLevelTest : public ::testing::TestWithParam<double> {};

TEST_P(NoiseLevelTest, FindsTheSpreadDespiteOutliersAndDrift) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, GetParam());
  NoiseLevel noise;
  double sum = 0;
  constexpr int frames = 4000;
  for (int i = 0; i < frames; ++i) {
    const double outlier = i % 97 == 0 ? 1.5 : 0;
    noise.add(normal(random) + outlier + 0.5 * std::sin(i * 0.001));
    if (i >= frames / 2) sum += noise.sigma();
  }
  EXPECT_NEAR(sum / (frames / 2.0), GetParam(), 0.12 * GetParam());
}

INSTANTIATE_TEST_SUITE_P(Levels, NoiseLevelTest, ::testing::Values(0.01, 0.03, 0.05, 0.08, 0.2));

TEST(RecentCosts, ForgetAllThatCameBeforeTheyWereCleared) {
  RecentCosts recent;
  for (std::size_t before = 0; before <= RecentCosts::capacity + 1; ++before) {
    for (std::size_t i = 0; i < before; ++i)
      recent.add(1, 2.0);
    recent.clear();
    EXPECT_EQ(recent.median_seconds(), 0);
    for (int i = 0; i < 3; ++i)
      recent.add(0, 1.0);
    EXPECT_EQ(recent.median_seconds(), 1.0) << "after " << before;
    RecentCosts::Values storage;
    EXPECT_THAT(recent.last(5, storage), ::testing::ElementsAre(0, 0, 0));
  }
}

TEST(ExpectedImprovement, AgreesWithItsDefinition) {
  std::mt19937_64 random(5);
  for (const double mean : {-0.5, -0.05, 0.0, 0.05, 0.4}) {
    for (const double deviation : {0.02, 0.1, 0.4}) {
      std::normal_distribution<double> normal(mean, deviation);
      double gain = 0;
      double excess = 0;
      constexpr int draws = 40'000;
      for (int i = 0; i < draws; ++i) {
        const double d = normal(random);
        gain += std::max(0.0, -0.01 - d) / draws;
        excess += std::max(0.0, std::exp(d) - 1) / draws;
      }
      EXPECT_NEAR(expected_improvement(mean, deviation, 0.01), gain, 0.03 * deviation);
      EXPECT_NEAR(expected_excess(mean, deviation), excess, 0.03 * deviation * std::exp(mean));
    }
  }
}

using testing::SimulatedWorkload;

TEST(CostModel, DoesNotDependOnTheOrderOfObservations) {
  const SimulatedWorkload workload({}, 0.001, 1);
  CostModel forward(workload.space(), workload.prior(1));
  CostModel backward(workload.space(), workload.prior(1));
  for (int i = 0; i < 40; ++i)
    forward.observe(i * 7, 0.01 * i, 0.02 + 0.001 * i);
  for (int i = 39; i >= 0; --i)
    backward.observe(i * 7, 0.01 * i, 0.02 + 0.001 * i);
  for (int c = 0; c < workload.space().size(); ++c) {
    EXPECT_NEAR(forward.mean(c), backward.mean(c), 2e-3);
    EXPECT_NEAR(forward.deviation(c), backward.deviation(c), 2e-3);
  }
}

TEST(CostModel, IsSureOfWhatWasMeasuredAndLessSureAfterADoubt) {
  const SimulatedWorkload workload({}, 0.001, 1);
  CostModel model(workload.space(), {});
  const double before = model.deviation(17);
  model.observe(17, -0.3, 0.01);
  EXPECT_NEAR(model.mean(17), -0.3, 0.01);
  EXPECT_LT(model.deviation(17), 0.015);
  model.widen(0.2, 0, 1);
  EXPECT_GT(model.deviation(17), 0.1);
  EXPECT_LT(model.deviation(17), before);
  EXPECT_LT(model.mean(17), -0.15);
  model.clear();
  EXPECT_EQ(model.mean(17), 0);
  EXPECT_NEAR(model.deviation(17), before, 1e-6);
}

// The purpose of the model: after a few dozen observations it predicts hundreds of other candidates.
TEST(CostModel, PredictsCandidatesThatWereNeverMeasured) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SimulatedWorkload workload({.tiles = 4}, 1, seed);
    CostModel model(workload.space(), {});
    std::mt19937_64 random(seed);
    const auto any = [&] {
      return static_cast<int>(random() % static_cast<std::uint64_t>(workload.space().size()));
    };
    double mean = 0;
    for (int i = 0; i < 60; ++i) {
      const int c = any();
      model.observe(c, std::log(workload.seconds(c)), 0.03);
      mean += std::log(workload.seconds(c)) / 60;
    }
    double explained = 0;
    double total = 0;
    for (int i = 0; i < 400; ++i) {
      const int c = any();
      explained += std::pow(std::log(workload.seconds(c)) - model.mean(c), 2);
      total += std::pow(std::log(workload.seconds(c)) - mean, 2);
    }
    EXPECT_LT(explained, 0.3 * total) << "seed " << seed;
  }
}

TEST(CostModel, KeepsTheBestWhenItHasToForget) {
  const SimulatedWorkload workload({}, 0.001, 1);
  CostModel model(workload.space(), {});
  for (int i = 0; i < 600; ++i) {
    model.observe(i, i == 3 ? -0.4 : 0.1 + 0.3 * ((i * 37) % 100) / 100, 0.02);
    ASSERT_LE(model.points(), CostModel::max_points);
  }
  EXPECT_NEAR(model.mean(3), -0.4, 0.05);
}

}  // namespace
}  // namespace millrace::tuning
