#include "millrace/model/pipeline/plan.h"
#include "millrace/model/pipeline/recorded_calls_testing.h"
#include "millrace/model/simulation/simulation.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

// With every strategy, a simulation does exactly the recorded work.
class ReplayByEveryStrategy : public testing::TestWithParam<Strategy> {};

TEST_P(ReplayByEveryStrategy, GoesThroughTheRecordedCallsOnce) {
  const Pipeline pipeline = replayed();
  for (const int threads : {1, 2, 4}) {
    for (const int tokens : {1, 2, 5}) {
      const Plan plan = make_runtime_plan(pipeline, GetParam(), threads, 2, 20, tokens);
      const auto result = simulate(pipeline, plan, {.items = 2});
      ASSERT_TRUE(result) << result.error().message;
      for (std::size_t s = 0; s < busy.size(); ++s)
        EXPECT_NEAR(result->stages[s].busy_seconds, busy[s], 1e-9) << pipeline.stages[s].name;
      EXPECT_EQ(result->items_out, 4);
      EXPECT_GE(result->seconds, 23e-3 / 2 - 1e-9);
      EXPECT_LE(result->seconds, 23e-3 + 1e-9);
    }
  }
}

TEST_P(ReplayByEveryStrategy, BeginsAgainWhenItNeedsMoreItemsThanWereRecorded) {
  const Pipeline pipeline = replayed();
  const Plan plan = make_runtime_plan(pipeline, GetParam(), 2, 2, 20, 3);
  const auto result = simulate(pipeline, plan, {.items = 100});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->items_out, 200);
  EXPECT_NEAR(result->stages[2].busy_seconds, 50 * busy[2], 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Strategies, ReplayByEveryStrategy, testing::ValuesIn(all_strategies),
                         [](const auto& strategy) { return std::string(to_string(strategy.param)); });

TEST(Replay, ByOneThreadTakesAsLongAsTheCallsTookTogether) {
  const Pipeline pipeline = replayed();
  const auto result = simulate_stealing(pipeline, {.threads = 1, .tokens = 4, .cores = 2}, {.items = 2});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->seconds, 23e-3, 1e-9);
}

}  // namespace
}  // namespace millrace::model
