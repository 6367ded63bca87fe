// Snapshots of a run in progress, taken through its handle.
#include "millrace/stream/flow.h"
#include "millrace/stream/random_pipeline_testing.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

class LiveReports : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }

  // The first snapshot that satisfies the wish.
  template <class Wish> static LiveReport await(const Running& running, const Wish& wish) {
    for (;;) {
      LiveReport report = running.live();
      if (wish(report)) return report;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  Watchdog watchdog_{testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_P(LiveReports, say_which_stage_is_at_work_and_what_is_held_up) {
  std::mutex gate;
  std::unique_lock shut(gate);
  auto stream = source("count",
                       [next = 0]() mutable -> std::optional<int> {
                         return next < 8 ? std::optional(next++) : std::nullopt;
                       })
                    .stage(Kind::parallel, "hold",
                           [&](int item) {
                             const std::lock_guard through(gate);
                             return item;
                           })
                    .sink(Kind::serial_in_order, "sink", [](int) {});
  ASSERT_TRUE(stream);
  auto running = stream->start({.strategy = GetParam(), .threads = 2, .tokens = 8});
  ASSERT_TRUE(running) << running.error().message;
  const LiveReport held = await(*running, [](const LiveReport& now) { return now.stages[1].calls == 2; });
  EXPECT_FALSE(held.is_over);
  EXPECT_EQ(held.threads, 2);
  EXPECT_EQ(held.tokens, 8);
  EXPECT_EQ(held.stages[0].name, "count");
  EXPECT_EQ(held.stages[1].items_in, 2U);
  EXPECT_EQ(held.stages[1].items_out, 0U);
  EXPECT_EQ(held.stages[2].items_in, 0U);
  EXPECT_EQ(held.stages[2].calls, 0);
  EXPECT_EQ(held.items_done(), 0U);
  // Meanwhile, `pools` goes on with the source.
  const LiveReport later = await(*running, [](const LiveReport& now) {
    return now.items_in_flight == now.items_made && now.stages[1].items_queued == now.items_made - 2;
  });
  EXPECT_GE(later.bytes_in_flight, 2 * sizeof(int));
  shut.unlock();
  EXPECT_TRUE(running->wait().status);
  const LiveReport after = running->live();
  EXPECT_TRUE(after.is_over);
  EXPECT_EQ(after.items_made, 8U);
  EXPECT_EQ(after.items_done(), 8U);
  EXPECT_EQ(after.bytes_in_flight, 0U);
  EXPECT_GT(after.items_per_s, 0);
  EXPECT_GT(items_per_second(held, after), 0);
  EXPECT_EQ(items_per_second(after, held), 0);
  for (const LiveStage& stage : after.stages) {
    EXPECT_EQ(stage.calls, 0) << stage.name;
    EXPECT_EQ(stage.items_queued, 0U) << stage.name;
  }
  EXPECT_EQ(running->live().wall_s, after.wall_s) << "the run is over";
}

TEST_P(LiveReports, say_how_many_items_wait_for_their_continuation) {
  std::mutex mutex;
  std::vector<Continuation<int>> waiting;
  auto stream = source("count",
                       [next = 0]() mutable -> std::optional<int> {
                         return next < 5 ? std::optional(next++) : std::nullopt;
                       })
                    .stage<int>(Kind::parallel, "wait",
                                [&](int /*item*/, Continuation<int> done) {
                                  const std::lock_guard lock(mutex);
                                  waiting.push_back(std::move(done));
                                })
                    .sink(Kind::parallel, "sink", [](int) {});
  ASSERT_TRUE(stream);
  auto running = stream->start({.strategy = GetParam(), .threads = 1});
  ASSERT_TRUE(running);
  const LiveReport all = await(*running, [](const LiveReport& now) { return now.stages[1].waiting == 5; });
  EXPECT_EQ(all.stages[1].items_in, 5U);
  EXPECT_EQ(all.stages[1].items_out, 0U);
  EXPECT_EQ(all.items_in_flight, 5U);
  {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(waiting[0].resume(0));
  }
  const LiveReport four = await(*running, [](const LiveReport& now) { return now.items_done() == 1; });
  EXPECT_EQ(four.stages[1].waiting, 4U);
  EXPECT_EQ(four.stages[2].items_in, 1U);
  {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 1; i < 5; ++i)
      EXPECT_TRUE(waiting[i].resume(0));
  }
  EXPECT_TRUE(running->wait().status);
}

TEST_P(LiveReports, agree_with_the_report_in_the_end_whoever_looked_meanwhile) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const RandomPipeline pipeline(seed);
    RandomPipeline::Record record(pipeline.stage_count());
    auto stream = pipeline.build(record);
    ASSERT_TRUE(stream) << stream.error().message;
    auto running = stream->start({.strategy = GetParam(), .threads = 3});
    ASSERT_TRUE(running);
    {
      std::vector<std::jthread> looking;
      for (int who = 0; who < 2; ++who)
        looking.emplace_back([&] {
          LiveReport before;
          do {
            LiveReport now = running->live();
            EXPECT_GE(now.items_made, before.items_made);
            EXPECT_LE(now.items_in_flight, now.items_made);
            EXPECT_LE(now.items_made, pipeline.items());
            before = std::move(now);
            std::this_thread::sleep_for(std::chrono::microseconds(20));
          } while (!before.is_over);
        });
    }
    const Finished& finished = running->wait();
    record.end();
    ASSERT_TRUE(finished.status) << finished.status.error().message;
    const LiveReport last = running->live();
    for (std::size_t i = 0; i < last.stages.size(); ++i) {
      SCOPED_TRACE(fmt::format("seed {}, stage {}", seed, i));
      EXPECT_EQ(last.stages[i].items_in, finished.report.stages[i].items_in);
      EXPECT_EQ(last.stages[i].items_out, finished.report.stages[i].items_out);
    }
    EXPECT_EQ(last.strategy, finished.report.strategy);
    EXPECT_EQ(last.tokens, finished.report.tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(strategies, LiveReports, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

TEST(LiveReport, has_the_last_decision_of_auto) {
  const Watchdog watchdog("auto");
  std::atomic<bool> over = false;
  auto stream =
      source("count", [&]() -> std::optional<int> { return over ? std::nullopt : std::optional(1); })
          .stage(Kind::parallel, "work",
                 [](int item) {
                   std::this_thread::sleep_for(std::chrono::microseconds(200));
                   return item;
                 })
          .sink(Kind::parallel, "sink", [](int) {});
  ASSERT_TRUE(stream);
  auto running = stream->start({.threads = 1});
  ASSERT_TRUE(running);
  LiveReport report;
  while (!report.decision) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    report = running->live();
  }
  over = true;
  const Finished& finished = running->wait();
  EXPECT_TRUE(finished.status);
  // Usually the first. On a busy machine, others may have followed before this thread took the snapshot.
  const auto seen = std::ranges::find(finished.report.decisions, report.decision->at_s, &PlanDecision::at_s);
  ASSERT_NE(seen, finished.report.decisions.end());
  EXPECT_EQ(seen->kind, report.decision->kind);
  EXPECT_EQ(seen->plan, report.decision->plan);
}

}  // namespace
}  // namespace millrace::stream
