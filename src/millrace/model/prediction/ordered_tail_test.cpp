#include "millrace/base/testing/release_only_testing.h"
#include "millrace/model/pipeline/pipeline_testing.h"
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/pipeline/random.h"
#include "millrace/model/pipeline/recorded_calls.h"
#include "millrace/model/prediction/ordered_tail.h"
#include "millrace/model/prediction/prediction.h"
#include "millrace/model/simulation/simulation.h"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::model {
namespace {

double simulated_seconds(const Pipeline& given, int threads, int tokens, std::int64_t items) {
  return simulate(given, make_plan(given, Strategy::stealing, threads, 1, tokens), {.items = items})
      .value()
      .seconds;
}

// One item in `one_in` takes `times` times as long as the others.
ServiceTime now_and_then_long(double usual_seconds, std::int64_t one_in, double times) {
  const double longer = usual_seconds * times;
  return ServiceTime::from_histogram({{usual_seconds, usual_seconds, one_in - 1}, {longer, longer, 1}})
      .value();
}

// Different stages, sometimes with a slow serial source or a slow ordered stage.
Pipeline random_pipeline(Random& random) {
  const auto serial = [&] { return ServiceTime::constant(random.below(3) == 0 ? 40e-6 : 1e-7); };
  Pipeline made{.stages = {{.name = "source", .kind = StageKind::serial, .service = serial()}}};
  const auto stages = 1 + random.below(3);
  for (std::uint64_t i = 0; i < stages; ++i) {
    const double mean = 20e-6 + 200e-6 * random.uniform();
    const auto service = random.below(2) == 0
                             ? now_and_then_long(mean, 10 + static_cast<std::int64_t>(random.below(90)),
                                                 2 + 30 * random.uniform())
                             : ServiceTime::with_variation(mean, 2 * random.uniform()).value();
    made.stages.push_back({.name = "work", .service = service});
    if (random.below(4) == 0)
      made.stages.push_back({.name = "turn", .kind = StageKind::ordered, .service = serial()});
  }
  made.stages.push_back({.name = "sink", .kind = StageKind::ordered, .service = serial()});
  return made;
}

// The same pipeline with all items drawn in advance.
Pipeline with_drawn_items(Pipeline given, std::size_t items, Random& random) {
  RecordedCalls calls;
  for (std::size_t i = 0; i < items; ++i) {
    auto& item = calls.items.emplace_back();
    for (const Stage& stage : given.stages)
      item.push_back({.seconds = {stage.service.sample(random)}, .outputs = {1}});
  }
  given.recorded = std::make_shared<const RecordedCalls>(std::move(calls));
  return given;
}

class EveryTail : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, EveryTail, testing::Range(0, 40));

TEST_P(EveryTail, SlowsDownAsTheSimulationOfTheSameItems) {
  MILLRACE_RELEASE_ONLY();
  Random random(static_cast<std::uint64_t>(GetParam()));
  const int threads = 2 + static_cast<int>(random.below(7));
  const Pipeline given = with_drawn_items(random_pipeline(random), 2048, random);
  const OrderedTail tail(given, 2048);
  const double unhindered = simulated_seconds(given, threads, 2048, 2048);
  for (const int tokens : {threads, 2 * threads, 4 * threads, 16 * threads}) {
    const double simulated = simulated_seconds(given, threads, tokens, 2048) / unhindered;
    EXPECT_NEAR(tail.slowdown(threads, tokens) / simulated, 1, 0.08)
        << threads << " threads, " << tokens << " tokens";
  }
}

TEST_P(EveryTail, NeverSlowsDownMoreWithMoreTokens) {
  MILLRACE_RELEASE_ONLY();
  Random random(static_cast<std::uint64_t>(GetParam()));
  const Pipeline given = random_pipeline(random);
  const OrderedTail tail(given, 2048);
  for (const int threads : {1, 2, 5, 16}) {
    double previous = tail.slowdown(threads, 1);
    for (int tokens = 2; tokens <= 200; tokens += 1 + tokens / 8) {
      const double slowdown = tail.slowdown(threads, tokens);
      EXPECT_LE(slowdown, previous);
      EXPECT_GE(slowdown, 1);
      previous = slowdown;
    }
    EXPECT_EQ(tail.slowdown(threads, tail.items()), 1);
  }
}

TEST_P(EveryTail, FindsTheSmallestNumberOfTokensThatSlowsDownSoLittle) {
  MILLRACE_RELEASE_ONLY();
  Random random(static_cast<std::uint64_t>(GetParam()));
  const OrderedTail tail(random_pipeline(random), 1000);
  for (const int threads : {2, 7}) {
    for (const double slowdown : {1.0, 1.01, 1.2}) {
      const int tokens = tail.sufficient_tokens(threads, slowdown, 1);
      EXPECT_LE(tail.slowdown(threads, tokens), slowdown);
      if (tokens > 1) {
        EXPECT_GT(tail.slowdown(threads, tokens - 1), slowdown);
      }
      EXPECT_EQ(tail.sufficient_tokens(threads, slowdown, tokens + 3), tokens + 3);
    }
  }
}

TEST_P(EveryTail, HasTokensEnoughWhereTheyAreSaidToSuffice) {
  MILLRACE_RELEASE_ONLY();
  Random random(static_cast<std::uint64_t>(GetParam()));
  const Pipeline given = random_pipeline(random);
  const int threads = 2 + static_cast<int>(random.below(7));
  const int tokens = sufficient_tokens(given, threads);
  const Pipeline drawn = with_drawn_items(given, 20'000, random);
  const double unhindered = simulated_seconds(drawn, threads, 20'000, 20'000);
  EXPECT_LE(simulated_seconds(drawn, threads, tokens, 20'000), 1.08 * unhindered)
      << threads << " threads, " << tokens << " tokens";
}

TEST(OrderedTail, CostsNothingWhereNoStageKeepsTheOrder) {
  const OrderedTail tail(pipeline("a 10us; b 1ms; c serial 10us"), 100);
  for (const int tokens : {1, 8, 1000})
    EXPECT_EQ(tail.slowdown(8, tokens), 1);
}

TEST(OrderedTail, CostsNothingWhereAllItemsTakeAsLongAndEachThreadHasAToken) {
  const OrderedTail tail(pipeline("a 1us cv 0; b 1ms cv 0; c ordered 1us cv 0"), 2048);
  for (const int threads : {2, 3, 16}) {
    EXPECT_NEAR(tail.slowdown(threads, threads), 1, 1e-9);
    EXPECT_GT(tail.slowdown(threads, threads - 1), 1.05);
  }
}

TEST(OrderedTail, CountsAllPartsOfAnItemThatSplits) {
  // The parts of an item count together, so items of a hundred parts vary less than items of one.
  const OrderedTail whole(pipeline("a 1us; b 1ms; c ordered 1us"), 2048);
  const OrderedTail parts(pipeline("a 1us cv 0 outputs 100; b 10us; c ordered 1us cv 0"), 2048);
  EXPECT_LT(parts.slowdown(4, 4), whole.slowdown(4, 4) - 0.2);
}

TEST(OrderedTail, IsANumberHoweverOftenItemsSplit) {
  const OrderedTail tail(pipeline("a 1us outputs 1000000; b 1us outputs 1000000; c 1us outputs 1000000; "
                                  "d 1us outputs 1000000; e ordered 1us"),
                         100);
  EXPECT_GE(tail.slowdown(4, 4), 1);
  EXPECT_LT(tail.slowdown(4, 4), 4);
}

TEST(SufficientTokens, AreManyWhereFewItemsTakeMuchLonger) {
  Pipeline given = pipeline("count 1us cv 0; work 100us; write ordered 2us cv 0");
  given.stages[1].service = ServiceTime::constant(150e-6);
  const int alike = sufficient_tokens(given, 2);
  given.stages[1].service = now_and_then_long(100e-6, 50, 30);
  const int differing = sufficient_tokens(given, 2);
  EXPECT_LE(alike, 4);
  // During the long item, the other thread completes as many as fit.
  EXPECT_GE(differing, 15);
  EXPECT_LE(differing, 64);
}

TEST(OrderedTail, AsksOftenWhetherToStopAndThenStops) {
  std::string stages = "first 1us";
  for (int s = 1; s < 100; ++s)
    stages += fmt::format("; s{} {} 1us", s, s % 2 == 0 ? "parallel" : "ordered");
  const Pipeline given = pipeline(stages);
  const auto questions = [&given](int stop_at) {
    int asked = 0;
    const auto stops = [&] { return ++asked >= stop_at; };
    const OrderedTail tail(given, 8192, stops);
    static_cast<void>(tail.sufficient_tokens(64, 1.01, 1, stops));
    return asked;
  };
  EXPECT_GT(questions(1'000'000), 50);
  // After the stop it asks once for each step of its search.
  for (const int stop_at : {1, 5, 20, 50})
    EXPECT_LT(questions(stop_at), stop_at + 16);
}

}  // namespace
}  // namespace millrace::model
