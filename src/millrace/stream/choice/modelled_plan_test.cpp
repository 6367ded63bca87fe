// The models divide threads in the same way as the runtime.
#include "millrace/model/pipeline/plan.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/strategy/segments.h"

#include <random>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

constexpr std::pair<Strategy, model::Strategy> strategies[] = {
    {Strategy::pools, model::Strategy::pools},
    {Strategy::oversubscribed, model::Strategy::oversubscribed},
    {Strategy::collapsed, model::Strategy::collapsed},
};

class ModelledPlan : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(seeds, ModelledPlan, testing::Range(0U, 60U));

TEST_P(ModelledPlan, divides_the_threads_as_the_runtime_does) {
  std::mt19937 random(GetParam());
  const auto stages = 1 + random() % 8;
  Program program;
  model::Pipeline pipeline{.stages = {{.name = "source", .kind = model::StageKind::serial}}};
  for (std::size_t i = 0; i < stages; ++i) {
    const bool parallel = random() % 3 != 0;
    const bool blocking = random() % 4 == 0;
    Stage stage;
    stage.kind = parallel ? Kind::parallel : Kind::serial_in_order;
    stage.options = {.blocking = blocking, .blocking_threads = 1};
    program.stages.push_back(std::move(stage));
    pipeline.stages.push_back({.name = "stage",
                               .kind = parallel ? model::StageKind::parallel : model::StageKind::ordered,
                               .waits = blocking});
  }
  for (const auto& [strategy, modelled] : strategies) {
    for (const int threads : {1, 2, 3, 7, 16}) {
      const auto segments = segments_of(program, strategy, threads);
      const model::Plan plan = model::make_runtime_plan(pipeline, modelled, threads, 4, 20, 8);
      // The first pool is the source.
      ASSERT_EQ(plan.pools.size(), segments.size() + 1);
      for (std::size_t i = 0; i < segments.size(); ++i) {
        EXPECT_EQ(plan.pools[i + 1].first_stage, static_cast<int>(segments[i].first) + 1);
        EXPECT_EQ(plan.pools[i + 1].last_stage, static_cast<int>(segments[i].last) + 1);
        EXPECT_EQ(plan.pools[i + 1].threads, segments[i].threads);
      }
    }
  }
}

}  // namespace
}  // namespace millrace::stream
