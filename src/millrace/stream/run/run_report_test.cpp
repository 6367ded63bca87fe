#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/run/run_report_json.h"
#include "millrace/stream/strategies_testing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::stream {
namespace {

// A traced run with varied content: 200 items, a third of them dropped, an ordered tail.
RunReport traced(Strategy strategy, Trace trace) {
  int next = 0;
  auto stream =
      source("count",
             [&]() -> std::optional<int> { return next < 300 ? std::optional(next++) : std::nullopt; })
          .stage<int>(Kind::parallel, "thin out",
                      [](int item, Output<int>& out) {
                        if (item % 3 != 0) out.emit(item);
                      })
          .stage(Kind::parallel, "pass", [](int item) { return item; })
          .sink(Kind::serial_in_order, "sink", [](int) {});
  auto pool = pool::WorkerPool::create(2);
  auto team = (*pool)->team();
  return stream->run(team, {.strategy = strategy, .trace = trace}).report;
}

class RunReportOf : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }
};

TEST_P(RunReportOf, counts_exactly_and_times_consistently) {
  const RunReport report = traced(GetParam(), Trace::events);
  ASSERT_EQ(report.stages.size(), 4U);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected{
      {300, 300}, {300, 200}, {200, 200}, {200, 0}};
  for (std::size_t i = 0; i < 4; ++i) {
    const StageReport& stage = report.stages[i];
    EXPECT_EQ(std::pair(stage.items_in, stage.items_out), expected[i]) << stage.name;
    EXPECT_GT(stage.service_s.count(), 0U) << stage.name;
    EXPECT_DOUBLE_EQ(stage.busy_s, stage.service_s.sum()) << stage.name;
    EXPECT_GE(stage.parked_s, 0);
    EXPECT_GE(stage.starved_s, 0);
    EXPECT_GE(stage.blocked_s, 0);
    EXPECT_GE(stage.queue_depth, 0);
  }
  EXPECT_GT(report.wall_s, 0);
  EXPECT_NE(report.strategy, Strategy::auto_);
  EXPECT_EQ(report.strategy_reason.empty(), GetParam() != Strategy::auto_);
}

TEST_P(RunReportOf, draws_calls_that_do_not_overlap_on_a_thread) {
  const RunReport report = traced(GetParam(), Trace::events);
  ASSERT_FALSE(report.events.empty());
  std::map<int, std::int64_t> free_at;
  for (const TraceEvent& event : report.events) {
    EXPECT_GE(event.start_ns, free_at[event.thread]);
    EXPECT_GE(event.duration_ns, 0);
    free_at[event.thread] = event.start_ns + event.duration_ns;
  }
  const auto drawn = chrome_trace(report);
  ASSERT_EQ(drawn["traceEvents"].size(), report.events.size());
  std::set<std::string> names;
  for (const auto& event : drawn["traceEvents"]) {
    EXPECT_EQ(event["ph"], "X");
    names.insert(event["name"].get<std::string>());
  }
  EXPECT_TRUE(names.contains("sink"));
}

TEST_P(RunReportOf, times_nothing_unless_asked) {
  if (GetParam() == Strategy::auto_) GTEST_SKIP() << "auto decides by the times";
  const RunReport report = traced(GetParam(), Trace::off);
  for (const StageReport& stage : report.stages) {
    EXPECT_EQ(stage.service_s.count(), 0U);
    EXPECT_EQ(stage.busy_s + stage.starved_s + stage.blocked_s + stage.parked_s + stage.queued_s, 0);
  }
  EXPECT_TRUE(report.events.empty());
}

TEST_P(RunReportOf, survives_json) {
  const RunReport report = traced(GetParam(), Trace::summary);
  const auto json = to_json(report);
  EXPECT_EQ(json["schema"], "millrace.stream.run");
  EXPECT_EQ(json["version"], 1);
  const auto back = run_report_from_json(nlohmann::json::parse(json.dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), json);
}

INSTANTIATE_TEST_SUITE_P(strategies, RunReportOf, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

// As in `auto`, which runs a stream in phases.
TEST(RunReport, keeps_the_first_events_of_each_thread_however_many_phases_are_appended) {
  RunReport phase{.wall_s = 1};
  phase.stages.emplace_back();
  constexpr std::size_t of_first = most_events_a_thread / 2 - 10;
  for (std::size_t i = 0; i < of_first; ++i)
    phase.events.push_back({.thread = 0, .start_ns = static_cast<std::int64_t>(i)});
  for (int i = 0; i < 5; ++i)
    phase.events.push_back({.thread = 1});
  phase.events_dropped = 3;
  RunReport run;
  constexpr std::size_t phases = 8;
  for (std::size_t i = 0; i < phases; ++i)
    run.append(phase);
  run.append(RunReport{});  // a phase that ran out of memory for its report
  const auto of_thread = [&](int thread) {
    return static_cast<std::size_t>(std::ranges::count(run.events, thread, &TraceEvent::thread));
  };
  EXPECT_EQ(of_thread(0), most_events_a_thread);
  EXPECT_EQ(of_thread(1), 5 * phases);
  EXPECT_EQ(run.events.size() + run.events_dropped, phases * (of_first + 5 + 3));
}

TEST(RunReport, refuses_json_with_any_field_missing_or_of_another_type) {
  const auto whole = to_json(traced(Strategy::stealing, Trace::summary));
  const auto expect_refused = [](const nlohmann::json& damaged, const std::string& field) {
    const auto read = run_report_from_json(damaged);
    ASSERT_FALSE(read) << field;
    EXPECT_NE(read.error().message.find(field), std::string::npos) << read.error().message;
  };
  for (const auto& [field, value] : whole.items()) {
    auto damaged = whole;
    damaged.erase(field);
    expect_refused(damaged, field);
    damaged[field] = nullptr;
    expect_refused(damaged, field);
  }
  for (const auto& [field, value] : whole["stages"][1].items()) {
    auto damaged = whole;
    damaged["stages"][1].erase(field);
    // Reports recorded by earlier versions lack newer fields.
    if (field == "waited_s")
      EXPECT_TRUE(run_report_from_json(damaged));
    else
      expect_refused(damaged, field);
    damaged["stages"][1][field] = nlohmann::json::array({-1});
    expect_refused(damaged, field);
  }
}

TEST(RunReport, refuses_other_schemas_and_versions) {
  auto json = to_json(traced(Strategy::stealing, Trace::off));
  json["version"] = 2;
  EXPECT_FALSE(run_report_from_json(json));
  EXPECT_FALSE(run_report_from_json(nlohmann::json::array()));
  EXPECT_FALSE(run_report_from_json({{"schema", "other"}, {"version", 1}}));
}

}  // namespace
}  // namespace millrace::stream
