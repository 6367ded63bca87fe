#include "millrace/model/pipeline/recorded_calls.h"
#include "millrace/model/pipeline/recorded_calls_testing.h"
#include "millrace/model/pipeline/recorded_run.h"

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
