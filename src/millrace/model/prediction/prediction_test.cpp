#include "millrace/base/testing/release_only_testing.h"
#include "millrace/model/pipeline/pipeline_testing.h"
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/prediction/prediction.h"

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

class FormulasBesideSimulation : public testing::TestWithParam<const char*> {};

TEST_P(FormulasBesideSimulation, AgreeWhereTokensSuffice) {
  MILLRACE_RELEASE_ONLY();
  const Pipeline given = pipeline(GetParam());
  for (const Strategy strategy : all_strategies) {
    for (const int cores : {1, 2, 4, 12}) {
      const Plan plan =
          make_plan(given, strategy, cores, 40, strategy == Strategy::stealing ? 12 * cores : 0);
      const Prediction formulas = predict(given, plan, 15'000);
      EXPECT_LE(formulas.low_seconds, formulas.point_seconds * (1 + 1e-12));
      EXPECT_LE(formulas.point_seconds, formulas.high_seconds * (1 + 1e-12));
      const auto simulated = predict_by_simulation(given, plan, 15'000, 15'000, 2, 5);
      ASSERT_TRUE(simulated);
      EXPECT_NEAR(formulas.point_seconds / simulated->point_seconds, 1, 0.13)
          << to_string(strategy) << " on " << cores;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pipelines, FormulasBesideSimulation,
    testing::Values("a 10us; b 1ms; c serial 10us", "a 0.3ms; b 1ms; c 4ms; d serial 0.1ms",
                    "a 10us; b 1ms cv 0.3; c 2ms slowdown 0.01 cv 0.3; d serial 20us cv 0"));

TEST(Prediction, OfMoreItemsThanSimulatedIsExtended) {
  const Pipeline given = pipeline("a 0.1ms; b 1ms; c serial 0.2ms");
  const Plan plan = make_plan(given, Strategy::stealing, 4, 1, 40);
  const auto few = predict_by_simulation(given, plan, 200'000, 20'000, 4, 1);
  const auto all = predict_by_simulation(given, plan, 200'000, 200'000, 2, 1);
  ASSERT_TRUE(few && all);
  EXPECT_NEAR(few->point_seconds / all->point_seconds, 1, 0.02);
}

// 20000 items would be 2 * 10^9 calls, so a sample is simulated.
TEST(Prediction, OfItemsThatSplitIntoManySimulatesFewer) {
  MILLRACE_RELEASE_ONLY();
  const Pipeline given = pipeline("a 1us outputs 1000; b 1us outputs 100; c 2us");
  const Plan plan = make_plan(given, Strategy::stealing, 4, 1, 8);
  const auto prediction = predict_by_simulation(given, plan, 100'000, 20'000, 2, 1);
  ASSERT_TRUE(prediction) << prediction.error().message;
  EXPECT_NEAR(prediction->point_seconds / (100'000 * total_demand(given) / 4), 1, 0.1);
  const Pipeline more = pipeline("a 1us outputs 10000; b 1us outputs 1000; c 2us");
  const auto refused = predict_by_simulation(more, plan, 100, 100, 2, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
}

TEST(Prediction, NamesWhatLimits) {
  const Pipeline given = pipeline("load 1ms; work 4ms; out serial 10us");
  const auto limit = [&](int cores, int tokens) {
    return predict(given, make_plan(given, Strategy::stealing, cores, 1, tokens), 1000).limit;
  };
  EXPECT_EQ(limit(2, 20), "cores");
  EXPECT_EQ(limit(16, 160), "stage load");
  EXPECT_EQ(limit(16, 2), "tokens");
}

TEST(SufficientTokens, AreTheSmallestThatTheFormulasFindSufficient) {
  const Pipeline given = pipeline("load 0.1ms; work 4ms; out serial 10us");
  for (const int threads : {1, 2, 8, 64}) {
    const int tokens = sufficient_tokens(given, threads);
    const auto seconds = [&](int count) {
      return predict(given, make_plan(given, Strategy::stealing, threads, 1, count), 1).point_seconds;
    };
    const double best = seconds(10 * threads + 20);
    EXPECT_LE(seconds(tokens), best / 0.99);
    if (tokens > 1) {
      EXPECT_GT(seconds(tokens - 1), best / 0.99);
    }
  }
}

}  // namespace
}  // namespace millrace::model
