// Limits on the resources of a run: bytes, tokens and threads, and no CPU while it waits.
#include "millrace/base/testing/thread_sleeps_testing.h"
#include "millrace/pool/serial_team.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

class Resources : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }

  Watchdog watchdog_{testing::UnitTest::GetInstance()->current_test_info()->name()};
};

// Counts the bytes in flight as seen by the stages.
TEST_P(Resources, hold_no_more_bytes_than_the_budget_and_one_item) {
  constexpr std::size_t budget = 1000;
  constexpr std::size_t largest = 700;
  std::atomic<std::size_t> in_flight = 0;
  std::atomic<std::size_t> peak = 0;
  auto stream = source("make",
                       [&, next = std::size_t{0}]() mutable -> std::optional<std::size_t> {
                         if (++next == 400) return std::nullopt;
                         const std::size_t size = 1 + next * 37 % largest;
                         const std::size_t now = in_flight += size;
                         std::size_t before = peak;
                         while (before < now && !peak.compare_exchange_weak(before, now)) {
                         }
                         return size;
                       },
                       {.bytes = [](const std::size_t& size) { return size; }})
                    .stage(Kind::parallel, "pass", [](std::size_t size) { return size; })
                    .sink(Kind::serial_in_order, "sink", [&](std::size_t size) { in_flight -= size; });
  ASSERT_TRUE(stream);
  auto pool = pool::WorkerPool::create(3);
  auto team = (*pool)->team();
  const Finished finished =
      stream->run(team, {.strategy = GetParam(), .tokens = 1000, .byte_budget = budget, .queue_depth = 1000});
  ASSERT_TRUE(finished.status) << finished.status.error().message;
  EXPECT_LT(peak, budget + largest);
  EXPECT_LT(finished.report.peak_bytes, budget + largest);
  EXPECT_GT(finished.report.peak_bytes, 0U);
}

TEST_P(Resources, let_an_item_pass_that_alone_exceeds_the_budget) {
  int seen = 0;
  auto stream = source("make",
                       [next = 0]() mutable -> std::optional<int> {
                         return next < 20 ? std::optional(next++) : std::nullopt;
                       },
                       {.bytes = [](const int&) { return std::size_t{1} << 40; }})
                    .sink(Kind::serial_in_order, "sink", [&](int) { ++seen; });
  ASSERT_TRUE(stream);
  pool::SerialTeam team;
  EXPECT_TRUE(stream->run(team, {.strategy = GetParam(), .byte_budget = 1}).status);
  EXPECT_EQ(seen, 20);
}

// Each of `items` items becomes `each` outputs. Returns the number that came out, and the run's result.
Finished explode(Strategy strategy, int items, std::int64_t each, std::int64_t& seen) {
  auto stream = source("make",
                       [items, next = 0]() mutable -> std::optional<int> {
                         return next < items ? std::optional(next++) : std::nullopt;
                       })
                    .stage<std::int64_t>(Kind::parallel, "explode",
                                         [each](int, Output<std::int64_t>& out) {
                                           for (std::int64_t i = 0; i < each; ++i)
                                             out.emit(i);
                                         })
                    .sink(Kind::serial_in_order, "count", [&](std::int64_t) { ++seen; });
  EXPECT_TRUE(stream);
  pool::SerialTeam team;
  return stream->run(team, {.strategy = strategy, .byte_budget = 1 << 20});
}

TEST_P(Resources, tell_of_the_bytes_that_a_call_hands_on_at_once) {
  std::int64_t seen = 0;
  const Finished finished = explode(GetParam(), 3, 50'000, seen);
  ASSERT_TRUE(finished.status) << finished.status.error().message;
  EXPECT_EQ(seen, 150'000);
  EXPECT_GT(finished.report.peak_bytes, 50'000 * sizeof(std::int64_t));
}

// Items that stay for a while, so that the source is shut whenever a thread wants the next one.
TEST_P(Resources, lose_no_item_of_a_source_without_sizes_to_a_small_budget) {
  int seen = 0;
  auto stream = source("make",
                       [next = 0]() mutable -> std::optional<int> {
                         return next < 40 ? std::optional(next++) : std::nullopt;
                       })
                    .stage(Kind::parallel, "stay",
                           [](int item) {
                             std::this_thread::sleep_for(std::chrono::microseconds(300));
                             return item;
                           })
                    .sink(Kind::serial_in_order, "sink", [&](int item) { EXPECT_EQ(item, seen++); });
  ASSERT_TRUE(stream);
  auto pool = pool::WorkerPool::create(3);
  auto team = (*pool)->team();
  EXPECT_TRUE(stream->run(team, {.strategy = GetParam(), .byte_budget = 2 * sizeof(int)}).status);
  EXPECT_EQ(seen, 40);
}

TEST_P(Resources, have_no_more_items_in_flight_than_tokens) {
  std::atomic<int> in_flight = 0;
  std::atomic<int> peak = 0;
  auto stream = source("make", [&, next = 0]() mutable -> std::optional<int> {
                  if (++next == 400) return std::nullopt;
                  const int now = ++in_flight;
                  int before = peak;
                  while (before < now && !peak.compare_exchange_weak(before, now)) {
                  }
                  return next;
                }).stage(Kind::parallel, "pass", [](int item) {
                    return item;
                  }).sink(Kind::serial_in_order, "sink", [&](int) { --in_flight; });
  ASSERT_TRUE(stream);
  auto pool = pool::WorkerPool::create(3);
  auto team = (*pool)->team();
  const Finished finished = stream->run(team, {.strategy = GetParam(), .tokens = 3});
  EXPECT_TRUE(finished.status);
  EXPECT_LE(peak, 3);
  EXPECT_EQ(finished.report.tokens, 3);
}

TEST_P(Resources, suffice_for_a_stream_without_items) {
  auto stream = source("none", []() -> std::optional<int> {
                  return std::nullopt;
                }).sink(Kind::serial_in_order, "sink", [](int) {});
  ASSERT_TRUE(stream);
  pool::SerialTeam team;
  EXPECT_TRUE(stream->run(team, {.strategy = GetParam()}).status);
}

// Calls that wait for each other: the requested number of threads must be in the stage at once, however few
// processors there are.
TEST_P(Resources, are_the_threads_asked_for) {
  constexpr int threads = 6;
  std::atomic<int> arrived = 0;
  auto stream = source("count",
                       [next = 0]() mutable -> std::optional<int> {
                         return next < 4 * threads ? std::optional(next++) : std::nullopt;
                       })
                    .stage(Kind::parallel, "meet",
                           [&](int item) {
                             const int all = (++arrived + threads - 1) / threads * threads;
                             while (arrived < all)
                               std::this_thread::sleep_for(std::chrono::microseconds(50));
                             return item;
                           })
                    .sink(Kind::serial_in_order, "sink", [](int) {});
  ASSERT_TRUE(stream);
  auto pool = pool::WorkerPool::create(threads);
  auto team = (*pool)->team();
  EXPECT_TRUE(stream->run(team, {.strategy = GetParam()}).status);
}

INSTANTIATE_TEST_SUITE_P(strategies, Resources, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

// All strategies except tbb, which has no threads for blocking stages.
class Threads : public Resources {};

// Each call of the blocking stage waits until another item has been computed. With one worker, this works
// only if the worker does not wait itself.
TEST_P(Threads, of_blocking_stages_leave_the_workers_to_the_others) {
  std::atomic<int> computed = 0;
  auto stream = source("count",
                       [next = 0]() mutable -> std::optional<int> {
                         return next < 40 ? std::optional(next++) : std::nullopt;
                       })
                    .stage<int>(Kind::parallel, "split",
                                [](int item, Output<int>& out) {
                                  out.emit(2 * item);
                                  out.emit(2 * item + 1);
                                })
                    .stage(Kind::parallel, "wait",
                           [&](int item) {
                             while (item % 2 == 0 && computed < item / 2)
                               std::this_thread::yield();
                             return item;
                           },
                           {.blocking = true, .blocking_threads = 2})
                    .stage(Kind::parallel, "compute",
                           [&](int item) {
                             if (item % 2 == 1) ++computed;
                             return item;
                           })
                    .sink(Kind::serial_in_order, "sink", [](int) {});
  ASSERT_TRUE(stream);
  pool::SerialTeam team;
  const Finished finished = stream->run(team, {.strategy = GetParam(), .tokens = 1});
  EXPECT_TRUE(finished.status);
  EXPECT_EQ(computed, 40);
}

TEST_P(Threads, sleep_while_the_source_waits) {
  for (const bool blocking : {false, true}) {
    const auto others = thread_sleeps(getpid());
    const pid_t caller = gettid();
    auto stream = source("wait",
                         [&, next = 0]() mutable -> std::optional<int> {
                           const pid_t waiting = gettid();
                           EXPECT_TRUE(come_to_rest([&](pid_t thread, const ThreadSleeps&) {
                             return thread != waiting && (thread == caller || !others.contains(thread));
                           })) << "a thread polls";
                           return ++next == 2 ? std::nullopt : std::optional(next);
                         },
                         {.blocking = blocking})
                      .sink(Kind::serial_in_order, "sink", [](int) {});
    ASSERT_TRUE(stream);
    auto pool = pool::WorkerPool::create(4);
    auto team = (*pool)->team();
    ASSERT_TRUE(stream->run(team, {.strategy = GetParam()}).status);
  }
}

INSTANTIATE_TEST_SUITE_P(strategies, Threads,
                         testing::Values(Strategy::pools, Strategy::oversubscribed, Strategy::collapsed,
                                         Strategy::stealing, Strategy::auto_),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

}  // namespace
}  // namespace millrace::stream
