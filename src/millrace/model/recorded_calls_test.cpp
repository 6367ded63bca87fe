#include "millrace/model/plan.h"
#include "millrace/model/recorded_calls.h"
#include "millrace/model/recorded_run.h"
#include "millrace/model/simulation.h"

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

using nlohmann::json;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

json call(const char* stage, int item, double milliseconds) {
  return {{"name", stage}, {"ph", "X"}, {"dur", 1000 * milliseconds}, {"args", {{"item", item}}}};
}

Stage stage(const char* name, StageKind kind, double outputs = 1) {
  return {.name = name, .kind = kind, .outputs = outputs};
}

// A source, a stage that splits, one that some parts bypass, and an ordered sink.
Pipeline splitting() {
  return {.stages = {stage("read", StageKind::serial), stage("cut", StageKind::parallel, 2),
                     stage("pack", StageKind::parallel), stage("write", StageKind::ordered)}};
}

// Item 0 becomes three parts, of which one is packed; item 1 is a single part, which is packed.
json trace() {
  json events = json::array();
  events.push_back(call("read", 0, 1));
  events.push_back(call("cut", 0, 2));
  events.push_back(call("pack", 0, 8));
  for (int part = 0; part < 3; ++part)
    events.push_back(call("write", 0, 0.5));
  events.push_back(call("read", 1, 1));
  events.push_back(call("cut", 1, 3));
  events.push_back(call("pack", 1, 6));
  events.push_back(call("write", 1, 0.5));
  events.push_back(call("read", 2, 0.1));  // the source's end
  return {{"traceEvents", events}};
}

const std::vector<double> busy{2e-3, 5e-3, 14e-3, 2e-3};

Pipeline replayed(const json& events = trace()) {
  Pipeline pipeline = splitting();
  auto calls = parse_recorded_calls(events.dump(), "trace.json", pipeline, 2, busy);
  EXPECT_TRUE(calls) << (calls ? "" : calls.error().message);
  for (Stage& one : pipeline.stages)
    one.service = ServiceTime::constant(1);  // not what is used
  pipeline.recorded = std::make_shared<const RecordedCalls>(std::move(*calls));
  return pipeline;
}

TEST(RecordedCalls, AreThoseOfTheTraceItemByItem) {
  const Pipeline pipeline = replayed();
  const auto& items = pipeline.recorded->items;
  ASSERT_EQ(items.size(), 2U);
  EXPECT_THAT(items[0][1].seconds, ElementsAre(DoubleNear(2e-3, 1e-12)));
  EXPECT_THAT(items[0][1].outputs, ElementsAre(3));
  EXPECT_THAT(items[1][1].outputs, ElementsAre(1));
  EXPECT_EQ(items[0][2].seconds.size(), 1U);
  EXPECT_EQ(items[0][3].seconds.size(), 3U);
}

TEST(RecordedCalls, ThatWereNotTimedGetTheirStagesMean) {
  Pipeline pipeline{.stages = {stage("read", StageKind::serial), stage("look", StageKind::parallel)}};
  json events = json::array();
  for (int item = 0; item < 4; ++item)
    events.push_back(call("read", item, 1));
  events.push_back(call("look", 2, 1));
  const auto calls =
      parse_recorded_calls(json{{"traceEvents", events}}.dump(), "t", pipeline, 4, {4e-3, 2.5e-3});
  ASSERT_TRUE(calls) << calls.error().message;
  EXPECT_THAT(calls->items[0][1].seconds, ElementsAre(DoubleNear(0.5e-3, 1e-12)));
  EXPECT_THAT(calls->items[2][1].seconds, ElementsAre(DoubleNear(1e-3, 1e-12)));
}

TEST(RecordedCalls, OfAStageWithSeveralAnItemAreStretchedToItsBusyTime) {
  json events = trace();
  std::erase_if(events["traceEvents"].get_ref<json::array_t&>(), [written = 0](const json& event) mutable {
    return event["name"] == "write" && ++written == 2;
  });
  const auto calls = parse_recorded_calls(events.dump(), "t", splitting(), 2, busy);
  ASSERT_TRUE(calls) << calls.error().message;
  double written = 0;
  for (const auto& item : calls->items)
    written = std::accumulate(item[3].seconds.begin(), item[3].seconds.end(), written);
  EXPECT_NEAR(written, 2e-3, 1e-12);
}

// Whatever the strategy, a simulation does the recorded work: no more, no less, no other.
class EveryStrategy : public testing::TestWithParam<Strategy> {};

TEST_P(EveryStrategy, GoesThroughTheRecordedCallsOnce) {
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

TEST_P(EveryStrategy, BeginsAgainWhenItNeedsMoreItemsThanWereRecorded) {
  const Pipeline pipeline = replayed();
  const Plan plan = make_runtime_plan(pipeline, GetParam(), 2, 2, 20, 3);
  const auto result = simulate(pipeline, plan, {.items = 100});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->items_out, 200);
  EXPECT_NEAR(result->stages[2].busy_seconds, 50 * busy[2], 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy, testing::ValuesIn(all_strategies),
                         [](const auto& strategy) { return std::string(to_string(strategy.param)); });

TEST(RecordedCalls, ByOneThreadTakeAsLongAsTheyTookTogether) {
  const Pipeline pipeline = replayed();
  const auto result = simulate_stealing(pipeline, {.threads = 1, .tokens = 4, .cores = 2}, {.items = 2});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->seconds, 23e-3, 1e-9);
}

TEST(RecordedCalls, OfAnotherRunAreRefused) {
  const auto refused = [](const std::string& text, const Pipeline& pipeline, int items) {
    const auto calls = parse_recorded_calls(text, "trace.json", pipeline, items, busy);
    EXPECT_FALSE(calls);
    return calls ? "" : calls.error().message;
  };
  const std::string good = trace().dump();
  EXPECT_THAT(refused("{", splitting(), 2), HasSubstr("trace.json: not a trace"));
  EXPECT_THAT(refused("[]", splitting(), 2), HasSubstr("not a trace"));
  EXPECT_THAT(refused(good, splitting(), 5), HasSubstr("no call for item 3"));
  EXPECT_THAT(refused(good, splitting(), 1000), HasSubstr("fewer calls"));
  Pipeline other = splitting();
  other.stages[2].name = "squeeze";
  EXPECT_THAT(refused(good, other, 2), HasSubstr("stage 'pack'"));
  other.stages[2].name = "cut";
  EXPECT_THAT(refused(good, other, 2), HasSubstr("two stages are called 'cut'"));
}

TEST(Slowdown, IsHowMuchLongerCallsTakeBesideOthers) {
  RecordedRun alone;
  RecordedRun beside;
  alone.pipeline = splitting();
  beside.pipeline = splitting();
  for (std::size_t s = 0; s < 4; ++s) {
    alone.pipeline.stages[s].service = ServiceTime::constant(1e-3);
    beside.pipeline.stages[s].service = ServiceTime::constant(s == 0 ? 0.9e-3 : 1.3e-3);
  }
  ASSERT_TRUE(set_slowdown(alone, beside, 4));
  EXPECT_EQ(alone.pipeline.stages[0].slowdown, 0);
  EXPECT_NEAR(alone.pipeline.stages[1].slowdown, 0.1, 1e-12);
  EXPECT_FALSE(set_slowdown(alone, beside, 1));
  beside.pipeline.stages[1].name = "other";
  EXPECT_FALSE(set_slowdown(alone, beside, 2));
}

}  // namespace
}  // namespace millrace::model
