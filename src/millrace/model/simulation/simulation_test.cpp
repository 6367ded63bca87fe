#include "millrace/base/testing/release_only_testing.h"
#include "millrace/model/formulas/closed_network.h"
#include "millrace/model/pipeline/pipeline_testing.h"
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/simulation/processors.h"
#include "millrace/model/simulation/simulation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

TEST(Processors, ShareTheirCoresEvenly) {
  Processors processors(1, 2);
  for (int job = 0; job < 4; ++job)
    processors.compute(job, 0, job < 2 ? 1 : 3);
  EXPECT_EQ(processors.busy_cores(), 2);
  // Four jobs on two cores: at half speed until the short ones are done, then at full speed.
  EXPECT_EQ(processors.next_done(), 0);
  EXPECT_DOUBLE_EQ(processors.now_seconds(), 2);
  EXPECT_EQ(processors.next_done(), 1);
  EXPECT_EQ(processors.next_done(), 2);
  EXPECT_DOUBLE_EQ(processors.now_seconds(), 4);
  EXPECT_EQ(processors.next_done(), 3);
  EXPECT_EQ(processors.next_done(), std::nullopt);
  EXPECT_DOUBLE_EQ(processors.busy_core_seconds(), 8);
}

TEST(Processors, LetWaitingJobsUseNoCore) {
  Processors processors(1, 1);
  processors.wait(0, 1);
  processors.wait(1, 1);
  processors.compute(2, 0, 1);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(processors.next_done());
  EXPECT_DOUBLE_EQ(processors.now_seconds(), 1);
  EXPECT_DOUBLE_EQ(processors.busy_core_seconds(), 1);
}

TEST(Simulation, EndsWhenItIsToldToStop) {
  const Pipeline given = pipeline("a 1us; b serial 1us");
  for (const Strategy strategy : all_strategies) {
    int questions = 0;
    const auto result = simulate(given, make_plan(given, strategy, 2, 20, 4),
                                 {.items = 500'000'000, .stops = [&] { return ++questions == 3; }});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::interrupted);
    EXPECT_EQ(questions, 3);
  }
}

// Splitting stages multiply items, and a short text can ask for more work than time or memory allow.
TEST(Explosions, AreRefusedBeforeTheyBegin) {
  const Pipeline given =
      pipeline("a 1us outputs 1000; b 1us outputs 1000; c 1us outputs 1000; d 1us outputs 1000");
  for (const Strategy strategy : all_strategies) {
    const auto result = simulate(given, make_plan(given, strategy, 2, 20, 4), {.items = 1});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::usage);
    EXPECT_NE(result.error().message.find("one item of the source becomes 1e+12 calls"), std::string::npos)
        << result.error().message;
  }
  const Pipeline less = pipeline("a 1us outputs 1000; b 1us outputs 1000; c 1us");
  const auto refused = simulate(less, make_plan(less, Strategy::stealing, 2, 1, 4), {.items = 100'000});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("give at most 1998 items"), std::string::npos)
      << refused.error().message;
}

TEST(Explosions, EndWhereMoreIsInsideThanIsHeld) {
  // Parts that wait before an ordered stage, and parts that a pool's threads have yet to pass on.
  struct Explosion {
    const char* text;
    Strategy strategy;
  };
  for (const auto& [text, strategy] :
       {Explosion{"a 1us outputs 1000; b 1us outputs 1000; c ordered 1s", Strategy::stealing},
        Explosion{"a 1us; b 1ms outputs 1000000; c 1s", Strategy::stealing},
        // As many threads for b as for c, and each of them holds a million parts.
        Explosion{"a 1us; b 1s outputs 1000000; c 1us", Strategy::pools}}) {
    const Pipeline given = pipeline(text);
    const auto result = simulate(given, make_plan(given, strategy, 64, 1000, 1000), {.items = 1000});
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().kind, ErrorKind::usage);
    EXPECT_NE(result.error().message.find("more than 4000000 items inside at once"), std::string::npos)
        << result.error().message;
  }
}

TEST(CallsPerItem, CountWhatBecomesOfAnItem) {
  EXPECT_DOUBLE_EQ(calls_per_item(pipeline("a 1us; b 1us; c 1us")), 3);
  EXPECT_DOUBLE_EQ(calls_per_item(pipeline("a 1us outputs 10; b 1us visits 0.5 outputs 3; c 1us")),
                   1 + 5 + 20);
  EXPECT_DOUBLE_EQ(calls_per_item(pipeline("a 1us outputs 0; b 1us")), 1);
  EXPECT_DOUBLE_EQ(calls_per_item(pipeline("a 1us; b 1us outputs 1000")), 1000);
}

struct Scenario {
  const char* text;
  Strategy strategy;
  int cores;
  int queue;
  int tokens;
  CoreSharing sharing = CoreSharing::balanced;
};

std::string name_of(const testing::TestParamInfo<Scenario>& info) {
  return std::string(to_string(info.param.strategy)) + std::to_string(info.index);
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> result;
  for (const char* text :
       {"a 1us; b 1ms; c serial 0.1ms", "a 0.2ms cv 0; b 1ms cv 0.5; c 2ms; d ordered 0.1ms",
        "a 1us; b 0.3ms outputs 4.5 cv 2; c 0.1ms visits 0.6; d 1ms batch 7 outputs 0.5; e ordered 10us",
        "a 0.2ms waits; b 0.7ms slowdown 0.02; c ordered 0.1ms visits 0.5; d 0.5ms outputs 0; e serial 0.1ms",
        "a 10us; b ordered 20us outputs 2; c 0.3ms cv 3; d ordered 20us outputs 1.5; e ordered 1us",
        "a 10us; b 1ms visits 0.5; c 1ms; d ordered 10us visits 0.3; e 0.1ms"}) {
    for (const Strategy strategy : all_strategies) {
      for (const int cores : {1, 3, 8})
        result.push_back({text, strategy, cores, 1 + cores, 2 * cores});
    }
    result.push_back({text, Strategy::pools, 4, 20, 0});
    result.push_back({text, Strategy::oversubscribed, 4, 3, 0, CoreSharing::sticky});
    result.push_back({text, Strategy::collapsed, 4, 1, 9, CoreSharing::sticky});
  }
  return result;
}

class EveryScenario : public testing::TestWithParam<Scenario> {
 protected:
  SimulationResult run(std::uint64_t seed = 3) {
    const Scenario& s = GetParam();
    given_ = pipeline(s.text);
    plan_ = make_plan(given_, s.strategy, s.cores, s.queue, s.tokens);
    plan_.sharing = s.sharing;
    auto result = simulate(given_, plan_, {.items = 2000, .seed = seed});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return std::move(*result);
  }
  Pipeline given_;
  Plan plan_;
};

TEST_P(EveryScenario, LosesNothing) {
  MILLRACE_RELEASE_ONLY();
  const SimulationResult result = run();
  EXPECT_EQ(result.source_items, 2000);
  EXPECT_EQ(result.stages[0].items, 2000);
  // Items are born at the source or by splitting. They leave, or are dropped if a stage emits nothing.
  const bool drops = std::ranges::any_of(
      given_.stages, [](const Stage& s) { return std::fmod(s.outputs, 1) > 0 || s.outputs == 0; });
  const bool collapsed_split = GetParam().strategy == Strategy::collapsed;
  if (!drops && !collapsed_split) {
    EXPECT_EQ(result.items_out, result.items_born);
  }
  EXPECT_LE(result.items_out, result.items_born);
  double expected = 2000;
  for (std::size_t i = 0; i < given_.stages.size(); ++i) {
    const Stage& stage = given_.stages[i];
    EXPECT_NEAR(static_cast<double>(result.stages[i].items), expected * stage.visits, 0.08 * expected + 1)
        << stage.name;
    expected *= stage.visits * stage.outputs + 1 - stage.visits;
  }
  EXPECT_NEAR(static_cast<double>(result.items_out), expected, 0.08 * expected + 1);
}

TEST_P(EveryScenario, ObeysLittlesLaw) {
  MILLRACE_RELEASE_ONLY();
  const SimulationResult result = run();
  EXPECT_NEAR(result.mean_items_inside,
              static_cast<double>(result.items_born) / result.seconds * result.sojourn_seconds,
              1e-6 * result.mean_items_inside);
}

TEST_P(EveryScenario, IsTheSameForTheSameSeed) {
  MILLRACE_RELEASE_ONLY();
  const SimulationResult one = run(11);
  const SimulationResult same = run(11);
  const SimulationResult other = run(12);
  EXPECT_EQ(one.seconds, same.seconds);
  EXPECT_EQ(one.items_out, same.items_out);
  EXPECT_EQ(one.busy_core_seconds, same.busy_core_seconds);
  EXPECT_NE(one.seconds, other.seconds);
}

TEST_P(EveryScenario, NeverDoesMoreWorkThanItsCoresCan) {
  MILLRACE_RELEASE_ONLY();
  const SimulationResult result = run();
  EXPECT_LE(result.busy_core_seconds, GetParam().cores * result.seconds * (1 + 1e-9));
  double computing = 0;
  for (std::size_t i = 0; i < given_.stages.size(); ++i) {
    const double busy = result.stages[i].busy_seconds;
    if (!given_.stages[i].waits) computing += busy;
    if (!given_.stages[i].is_parallel()) {
      EXPECT_LE(busy, result.seconds * (1 + 1e-9));
    }
  }
  EXPECT_NEAR(result.busy_core_seconds, computing, 1e-6 * computing);
}

TEST_P(EveryScenario, KeepsItsTokens) {
  const SimulationResult result = run();
  const bool splits = std::ranges::any_of(given_.stages, [](const Stage& s) { return s.outputs > 1; });
  if (GetParam().tokens > 0 && !splits) {
    EXPECT_LE(result.most_items_inside, GetParam().tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, EveryScenario, testing::ValuesIn(scenarios()), name_of);

// Tokens that circulate through stations with exponential times and unlimited room. The closed network is
// exact here.
class AsClosedNetwork : public testing::TestWithParam<int> {};

TEST_P(AsClosedNetwork, PoolsReachTheThroughputOfTheFormula) {
  MILLRACE_RELEASE_ONLY();
  const int tokens = GetParam();
  const Pipeline given = pipeline("a 0.2ms; b 1ms; c 1.5ms; d serial 0.35ms");
  const PoolsSetting setting{
      .pools = {{0, 0, 1}, {1, 1, 2}, {2, 2, 5}, {3, 3, 1}}, .queue = 1000, .cores = 9, .tokens = tokens};
  const auto simulated = simulate_pools(given, setting, {.items = 80'000});
  ASSERT_TRUE(simulated);
  const double exact = network_throughput({{.demand_seconds = 2e-4},
                                           {.demand_seconds = 1e-3, .servers = 2},
                                           {.demand_seconds = 1.5e-3, .servers = 5},
                                           {.demand_seconds = 3.5e-4}},
                                          tokens);
  EXPECT_NEAR(simulated->steady_items_per_second / exact, 1, 0.02);
}

TEST_P(AsClosedNetwork, StealingWithAThreadForEachTokenReachesTheThroughputOfTheFormula) {
  MILLRACE_RELEASE_ONLY();
  const int tokens = GetParam();
  const Pipeline given = pipeline("a 0.2ms; b 1ms; d serial 0.35ms");
  const auto simulated = simulate_stealing(given, {.threads = tokens, .tokens = tokens}, {.items = 80'000});
  ASSERT_TRUE(simulated);
  const double exact = network_throughput({{.demand_seconds = 2e-4},
                                           {.demand_seconds = 1e-3, .servers = static_cast<double>(tokens)},
                                           {.demand_seconds = 3.5e-4}},
                                          tokens);
  EXPECT_NEAR(simulated->steady_items_per_second / exact, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Tokens, AsClosedNetwork, testing::Values(1, 2, 3, 5, 8, 20));

TEST(Simulation, OfCoresThatSlowEachOtherDownAgreesWithTheLoadDependentNetwork) {
  const Pipeline given = pipeline("a 1us; b 1ms slowdown 0.05");
  const auto simulated = simulate_pools(given, {.pools = {{0, 0, 1}, {1, 1, 16}}, .queue = 100, .cores = 17},
                                        {.items = 100'000});
  ASSERT_TRUE(simulated);
  const double exact = network_throughput(
      {{.demand_seconds = 1e-6}, {.demand_seconds = 1e-3, .servers = 16, .slowdown = 0.05}}, 100);
  EXPECT_NEAR(simulated->steady_items_per_second / exact, 1, 0.02);
}

TEST(Simulation, OfConstantTimesIsExact) {
  const Pipeline given = pipeline("a 1ms cv 0; b 2ms cv 0; c 1ms cv 0");
  const auto result =
      simulate_pools(given, {.pools = {{0, 0, 1}, {1, 1, 2}, {2, 2, 1}}, .cores = 4}, {.items = 100});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->seconds, 100 * 1e-3 + 3e-3, 1e-12);
  const auto alone = simulate_stealing(given, {.threads = 1, .tokens = 4}, {.items = 100});
  ASSERT_TRUE(alone);
  EXPECT_NEAR(alone->seconds, 0.4, 1e-12);
}

// With an ordered tail a token returns only when all earlier ones have: start_i >= exit_{i-N}.
TEST(Simulation, OfAnOrderedTailHoldsTokensBack) {
  const Pipeline as_they_come = pipeline("a 1us; b 1ms; c serial 1us");
  const Pipeline ordered = pipeline("a 1us; b 1ms; c ordered 1us");
  const auto fast = simulate_stealing(as_they_come, {.threads = 8, .tokens = 10}, {.items = 50'000});
  const auto slow = simulate_stealing(ordered, {.threads = 8, .tokens = 10}, {.items = 50'000});
  const auto roomy = simulate_stealing(ordered, {.threads = 8, .tokens = 200}, {.items = 50'000});
  ASSERT_TRUE(fast && slow && roomy);
  EXPECT_GT(slow->seconds, 1.3 * fast->seconds);
  EXPECT_NEAR(roomy->seconds, fast->seconds, 0.03 * fast->seconds);
}

TEST(Simulation, OfStealingKeepsASerialStageAtWorkWhileItemsWaitForIt) {
  // Half of the work is in an ordered stage. Two threads suffice only if one of them is always in it.
  for (const char* kind : {"ordered", "serial"}) {
    const Pipeline given =
        pipeline(std::string("source 2us cv 0; before 100us cv 0.3; narrow 150us cv 0.2 ") + kind +
                 "; after 48us cv 0.3; sink ordered 1us cv 0");
    const auto result = simulate_stealing(given, {.threads = 2, .tokens = 8}, {.items = 20'000});
    ASSERT_TRUE(result);
    EXPECT_LE(result->seconds, 1.02 * 20'000 * total_demand(given) / 2) << kind;
  }
}

TEST(Simulation, OfWaitingForADeviceLeavesTheCoreToOthers) {
  const Pipeline waits = pipeline("a 1ms cv 0 waits; b 1ms cv 0");
  const Pipeline computes = pipeline("a 1ms cv 0; b 1ms cv 0");
  const PoolsSetting one_core{.pools = {{0, 0, 1}, {1, 1, 1}}, .cores = 1};
  EXPECT_NEAR(simulate_pools(waits, one_core, {.items = 1000})->seconds, 1.001, 1e-9);
  EXPECT_NEAR(simulate_pools(computes, one_core, {.items = 1000})->seconds, 2, 0.01);
}

TEST(Simulation, OfAHistogramKeepsItsMean) {
  auto service = ServiceTime::from_histogram({{0, 1e-3, 30}, {1e-3, 2e-3, 50}, {8e-3, 1e-2, 20}});
  ASSERT_TRUE(service);
  EXPECT_NEAR(service->mean_seconds(), 0.3 * 0.5e-3 + 0.5 * 1.5e-3 + 0.2 * 9e-3, 1e-15);
  Pipeline given{{{.name = "a", .kind = StageKind::serial, .service = *service}}};
  const auto result = simulate_stealing(given, {.threads = 1, .tokens = 1}, {.items = 200'000});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->seconds / 200'000 / service->mean_seconds(), 1, 0.01);
}

TEST(Simulation, OfAThousandCoresEnds) {
  const Pipeline given = pipeline("a 1us; b 1ms cv 0.5; c ordered 0.5us");
  const auto result = simulate_stealing(given, {.threads = 1024, .tokens = 4096}, {.items = 20'000});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->items_out, 20'000);
}

TEST(Simulation, RefusesSettingsThatDoNotFit) {
  const Pipeline given = pipeline("a 1us; b 1ms; c serial 1us");
  const auto pools = [&](const PoolsSetting& setting) { return simulate_pools(given, setting, {}); };
  EXPECT_FALSE(pools({.pools = {{0, 0, 1}, {1, 2, 1}}}));             // a serial stage collapsed
  EXPECT_FALSE(pools({.pools = {{0, 0, 2}, {1, 1, 1}, {2, 2, 1}}}));  // a serial stage with two threads
  EXPECT_FALSE(pools({.pools = {{0, 0, 1}, {1, 1, 1}}}));             // a stage without pool
  EXPECT_FALSE(pools({.pools = {{0, 0, 1}, {1, 1, 0}, {2, 2, 1}}}));  // no thread
  EXPECT_FALSE(pools({.pools = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}}, .cores = 0}));
  EXPECT_FALSE(simulate_stealing(given, {.threads = 0, .tokens = 1}, {}));
  EXPECT_FALSE(simulate_stealing(given, {.threads = 1, .tokens = 0}, {}));
  EXPECT_FALSE(simulate_stealing(given, {}, {.items = 0}));
}

}  // namespace
}  // namespace millrace::model
