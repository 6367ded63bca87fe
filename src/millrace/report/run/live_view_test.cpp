#include "millrace/report/run/live_view.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::report {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

LiveRun live_run(std::size_t workers = 2) {
  LiveRun run{.pipeline = "blur", .from = "in.mp4", .to = "out.mkv", .total = 400};
  run.earlier = {.at = 10, .frames = 100, .computing = 1, .input_wait = 2, .output_wait = 3};
  run.now = {.at = 12, .frames = 200, .computing = 2.2, .input_wait = 2.2, .output_wait = 3.4};
  for (std::size_t worker = 0; worker < workers; ++worker) {
    run.earlier.workers.push_back(5);
    run.now.workers.push_back(5 + 0.5 * static_cast<double>(worker % 4));
  }
  run.bottleneck = "compute";
  run.running = "tiled 64x64";
  run.incumbent = "sliding 0x8";
  run.trial = "tiled 64x64";
  for (int i = 0; i < 40; ++i)
    run.decisions.push_back("decision " + std::to_string(i));
  return run;
}

// Bars as '#'.
std::vector<std::string> texts(const LiveRun& run, int width, int height) {
  std::vector<std::string> lines;
  for (const LiveLine& line : live_lines(run, width, height)) {
    lines.emplace_back();
    for (const LiveSpan& span : line)
      lines.back() += span.style == LiveSpan::Style::bar ? std::string(span.text.size(), '#') : span.text;
  }
  return lines;
}

TEST(LiveView, ShowsRatesSharesAndWorkersOfTheLastMoment) {
  const auto lines = texts(live_run(), 90, 40);
  EXPECT_THAT(lines, Contains(StartsWith("200/400 frames  16.7 frames/s  0:12 left  (now 50.0)")));
  EXPECT_THAT(lines, Contains(testing::AllOf(StartsWith("done       ##############################   "),
                                             HasSubstr(" 50 %"))));
  EXPECT_THAT(lines, Contains(testing::AllOf(StartsWith("decode     ######   "), HasSubstr(" 10 %"),
                                             Not(HasSubstr("bottleneck")))));
  EXPECT_THAT(lines, Contains(testing::AllOf(StartsWith("compute    ###"), HasSubstr(" 60 %  bottleneck"))));
  EXPECT_THAT(lines, Contains(testing::AllOf(StartsWith("encode     ###"), HasSubstr(" 20 %"),
                                             Not(HasSubstr("bottleneck")))));
  EXPECT_THAT(lines, Contains("running    tiled 64x64"));
  EXPECT_THAT(lines, Contains("incumbent  sliding 0x8"));
  EXPECT_THAT(lines, Contains("trial      tiled 64x64"));
  EXPECT_THAT(lines, Contains(testing::AllOf(StartsWith("worker 0  "), HasSubstr("  0 %"))));
  EXPECT_THAT(lines, Contains(testing::AllOf(StartsWith("worker 1   ###"), HasSubstr(" 25 %"))));
  EXPECT_EQ(lines.back(), "decision 39");
}

TEST(LiveView, TellsWorkingFromWaitingForACpu) {
  LiveRun run = live_run(4);
  EXPECT_THAT(texts(run, 100, 40), Not(Contains(HasSubstr("CPU"))));
  run.cpus = "other programs have them";
  run.earlier.waits = {1, 1, 1, 1};
  run.now.waits = {1, 1.02, 2.5, 3};
  const auto lines = texts(run, 100, 40);
  EXPECT_THAT(lines, Contains("CPUs       other programs have them"));
  EXPECT_THAT(
      lines, Contains(testing::AllOf(StartsWith("worker 1  "), HasSubstr(" 25 %"), Not(HasSubstr("waits")))));
  EXPECT_THAT(lines,
              Contains(testing::AllOf(StartsWith("worker 2  "), HasSubstr(" 50 %  waits for a CPU  75 %"))));
  EXPECT_THAT(lines,
              Contains(testing::AllOf(StartsWith("worker 3  "), HasSubstr(" 75 %  waits for a CPU 100 %"))));
}

TEST(LiveView, MarksTheBottleneckThatTheRunHasAndNoOther) {
  for (const char* name : {"", "decode", "compute", "encode"}) {
    LiveRun run = live_run();
    run.bottleneck = name;
    for (const std::string& line : texts(run, 90, 40))
      EXPECT_EQ(line.ends_with("bottleneck"), *name != 0 && line.starts_with(name)) << line;
  }
}

TEST(LiveView, HasOneBarForTheWorkersThatHaveNoRoom) {
  const auto lines = texts(live_run(64), 90, 30);
  EXPECT_THAT(lines, Contains(StartsWith("worker 0 ")));
  EXPECT_THAT(lines, Contains(testing::ContainsRegex("^[0-9]+ more ")));
  EXPECT_THAT(lines, Contains("decision 39"));
}

TEST(LiveView, OfAScheduleThatWasGivenShowsNoSearch) {
  LiveRun run = live_run();
  run.incumbent.clear();
  EXPECT_THAT(texts(run, 80, 24), Contains(HasSubstr("the schedule was given")));
  EXPECT_THAT(texts(run, 80, 24), Not(Contains(StartsWith("trial"))));
}

class LiveSizes : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(LiveSizes, NothingIsWiderOrLongerThanTheScreen) {
  const auto [width, height] = GetParam();
  LiveRun strange = live_run(300);
  strange.pipeline = std::string(500, 'x');
  strange.from = "ä\x1b[31mö\n";
  strange.now.workers.resize(7);
  strange.now.at = strange.earlier.at;
  strange.now.computing = -1e300;
  for (const LiveRun& run : {live_run(), live_run(0), live_run(300), strange, LiveRun()}) {
    const auto lines = texts(run, width, height);
    EXPECT_LE(std::ssize(lines), std::max(height, 0));
    for (const std::string& line : lines) {
      const auto characters = std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(characters, std::max(width, 0));
      EXPECT_THAT(line, Each(testing::Ne('\x1b')));
      EXPECT_THAT(line, Each(testing::Ne('\n')));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Screens, LiveSizes,
                         testing::Values(std::pair(0, 0), std::pair(1, 1), std::pair(7, 3), std::pair(20, 10),
                                         std::pair(40, 12), std::pair(80, 24), std::pair(200, 60),
                                         std::pair(-1, -1)));

}  // namespace
}  // namespace millrace::report
