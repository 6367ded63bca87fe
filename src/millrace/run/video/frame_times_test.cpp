#include "millrace/base/testing/release_only_testing.h"
#include "millrace/run/video/frame_times.h"
#include "millrace/run/video/run_trace.h"

#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::run {
namespace {

class FrameTimesOf : public testing::TestWithParam<int> {};

TEST_P(FrameTimesOf, AnyNumberOfTurnsAreFewPointsWithTheSameSums) {
  FrameTimes times;
  double computing = 0;
  double input_wait = 0;
  double output_wait = 0;
  std::int64_t frames = 0;
  for (int i = 0; i < GetParam(); ++i) {
    const FrameTime batch{.at = 0.5 * (i + 1),
                          .frames = 1 + i % 2,
                          .computing = 0.25 * (i % 7),
                          .input_wait = 0.5 * (i % 3),
                          .output_wait = 0.125 * (i % 5),
                          .slowest = 0.25 * (i % 7)};
    times.add(batch);
    computing += batch.computing;
    input_wait += batch.input_wait;
    output_wait += batch.output_wait;
    frames += batch.frames;
  }
  const auto points = times.points();
  ASSERT_LE(points.size(), FrameTimes::most_points);
  EXPECT_GE(points.size(), std::min<std::size_t>(GetParam(), FrameTimes::most_points / 2));
  double sum = 0;
  std::int64_t counted = 0;
  double before = 0;
  double slowest = 0;
  for (const FrameTime& point : points) {
    EXPECT_GT(point.at, before);
    before = point.at;
    sum += point.computing;
    input_wait -= point.input_wait;
    output_wait -= point.output_wait;
    counted += point.frames;
    slowest = std::max(slowest, point.slowest);
  }
  EXPECT_EQ(sum, computing);
  EXPECT_EQ(input_wait, 0);
  EXPECT_EQ(output_wait, 0);
  EXPECT_EQ(counted, frames);
  EXPECT_EQ(before, 0.5 * GetParam());
  EXPECT_EQ(slowest, GetParam() > 6 ? 1.5 : 0.25 * (GetParam() - 1));
}

INSTANTIATE_TEST_SUITE_P(Lengths, FrameTimesOf,
                         testing::Values(1, 2, 6, 999, 1000, 1001, 1500, 2001, 12'345));

// The trace of a run with this many batches and, in each, this many kernel calls on each of two workers.
nlohmann::json trace_of(int batches, int calls_each) {
  RunTrace trace(1000);
  const std::vector<std::vector<image::GroupName>> groups{{{.stages = "blur\"", .plane = 0, .size = {8, 8}}}};
  std::int64_t now = 1000;
  for (int batch = 0; batch < batches; ++batch) {
    now += 5000;
    const std::int64_t start = now;
    std::vector<image::KernelCall> calls;
    for (int call = 0; call < calls_each; ++call) {
      for (int worker = 0; worker < 2; ++worker)
        calls.push_back(
            {.worker = worker, .area = {0, call, 8, call + 1}, .start_ns = now, .end_ns = now + 900});
      now += 1000;
    }
    trace.add_computing({batch, start, now}, {}, groups, calls, 3);
    now += 3000;
    trace.add_waiting(start, 4e-6, now, 2e-6);
  }
  return nlohmann::json::parse(trace.to_json("a \"name\""));
}

class TraceOf : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(TraceOf, EventsAreCompleteAndNeverOverlapWithinATrack) {
  MILLRACE_RELEASE_ONLY();
  const auto [batches, calls] = GetParam();
  const auto trace = trace_of(batches, calls);
  std::map<int, double> ends;
  std::map<int, int> events;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") continue;
    ASSERT_EQ(event["ph"], "X");
    const int track = event["tid"];
    EXPECT_GE(event["ts"].get<double>(), ends[track] - 1e-3);
    ends[track] = event["ts"].get<double>() + event["dur"].get<double>();
    ++events[track];
  }
  EXPECT_EQ(events.size(), 3U);
  EXPECT_EQ(trace["otherData"]["kernel calls that batches had no room for"], 3 * batches);
  const int all = batches * calls;
  EXPECT_LE(events[1] + events[2], int{RunTrace::most_calls});
  EXPECT_GE(events[1], std::min(all, int{RunTrace::most_calls} / 5));
  if (2 * all <= int{RunTrace::most_calls}) {
    EXPECT_EQ(events[0], 3 * batches);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, TraceOf,
                         testing::Values(std::pair(1, 1), std::pair(50, 20), std::pair(300, 600)));

}  // namespace
}  // namespace millrace::run
