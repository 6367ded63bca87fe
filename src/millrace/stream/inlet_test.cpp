// Streams that are fed from outside, and runs on a thread of their own.
#include "millrace/pool/shared_workers.h"
#include "millrace/stream/inlet.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

auto numbers_below(int count) {
  return [count, next = 0]() mutable -> std::optional<int> {
    return next < count ? std::optional(next++) : std::nullopt;
  };
}

std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

class RunningWith : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }
};

TEST_P(RunningWith, takes_what_several_threads_push_each_in_its_order) {
  const Watchdog watchdog("pushing");
  using Item = std::pair<int, int>;  // producer, item
  std::array<std::vector<int>, 3> seen;
  auto [flow, in] = inlet<Item>("in", 4);
  auto stream = std::move(flow)
                    .stage(Kind::parallel, "pass", [](Item item) { return item; })
                    .sink(Kind::serial_in_order, "keep", [&](Item item) {
                      seen.at(static_cast<std::size_t>(item.first)).push_back(item.second);
                    });
  ASSERT_TRUE(stream);
  auto running = stream->start({.strategy = GetParam(), .threads = 2});
  ASSERT_TRUE(running);
  {
    std::vector<std::jthread> pushing;
    for (int who = 0; who < 3; ++who)
      pushing.emplace_back([who, in = in] {
        for (int i = 0; i < 200; ++i)
          EXPECT_TRUE(in.push({who, i}));
      });
  }
  in.close();
  const Finished& finished = running->wait();
  EXPECT_TRUE(finished.status);
  EXPECT_TRUE(running->is_over());
  EXPECT_EQ(finished.report.stages.back().items_in, 600U);
  for (const auto& of_one : seen)
    EXPECT_EQ(of_one, first_numbers(200));
  EXPECT_FALSE(in.push({0, 0})) << "the run is over";
}

TEST_P(RunningWith, lets_go_of_those_who_push_when_a_stage_fails) {
  const Watchdog watchdog("failing");
  auto [flow, in] = inlet<std::unique_ptr<int>>("in", 2);
  auto stream =
      std::move(flow).sink(Kind::serial_in_order, "sink", [](const std::unique_ptr<int>& item) -> Status {
        if (*item == 5) return failure("five");
        return {};
      });
  ASSERT_TRUE(stream);
  auto running = stream->start({.strategy = GetParam(), .threads = 2});
  ASSERT_TRUE(running);
  int pushed = 0;
  while (in.push(std::make_unique<int>(pushed)))
    ++pushed;
  EXPECT_GE(pushed, 6);
  EXPECT_EQ(running->wait().cause.message, "five");
}

TEST_P(RunningWith, ends_at_a_stop_and_runs_again) {
  const Watchdog watchdog("stopping");
  int sum = 0;
  auto [flow, in] = inlet<int>("in", 3);
  auto stream = std::move(flow).sink(Kind::serial_in_order, "add", [&](int item) { sum += item; });
  ASSERT_TRUE(stream);
  {
    auto running = stream->start({.strategy = GetParam(), .threads = 2});
    ASSERT_TRUE(running);
    EXPECT_FALSE(running->is_over()) << "nothing was pushed";
    running->stop();
    EXPECT_EQ(running->wait().status.error().kind, ErrorKind::interrupted);
    EXPECT_EQ(running->wait().status.error().kind, ErrorKind::interrupted) << "again";
  }
  EXPECT_FALSE(in.push(6)) << "no run";
  auto running = stream->start({.strategy = GetParam(), .threads = 2});
  ASSERT_TRUE(running);
  EXPECT_TRUE(in.push(7));
  in.close();
  EXPECT_TRUE(running->wait().status);
  EXPECT_EQ(sum, 7);
}

TEST_P(RunningWith, works_on_no_more_items_at_once_than_a_stage_allows) {
  const Watchdog watchdog("a limited stage");
  for (const int limit : {1, 2, 3}) {
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    std::vector<int> seen;
    auto stream = source("count", numbers_below(400))
                      .stage(Kind::parallel, "limited",
                             [&](int item) {
                               const int now = ++inside;
                               int before = most.load();
                               while (before < now && !most.compare_exchange_weak(before, now)) {
                               }
                               if (item % 16 == 0)
                                 std::this_thread::sleep_for(std::chrono::microseconds(100));
                               --inside;
                               return item;
                             },
                             {.limit = limit})
                      .stage(Kind::parallel, "free", [](int item) { return item; })
                      .sink(Kind::serial_in_order, "keep", [&](int item) { seen.push_back(item); });
    ASSERT_TRUE(stream);
    EXPECT_TRUE(stream->run({.strategy = GetParam(), .threads = 4}).status);
    EXPECT_EQ(seen, first_numbers(400));
    EXPECT_LE(most, limit);
  }
}

TEST_P(RunningWith, drops_what_a_stage_has_no_output_for_and_expands_what_it_has_many_for) {
  std::vector<std::string> seen;
  auto stream =
      source("count", numbers_below(60))
          .stage(Kind::parallel, "even",
                 [](int item) { return item % 2 == 0 ? std::optional(item) : std::nullopt; })
          .stage(Kind::parallel, "by three",
                 [](int item) -> Result<std::optional<int>> {
                   if (item % 3 == 0) return item;
                   return std::nullopt;
                 })
          .expand(Kind::parallel, "times",
                  [](int item) {
                    return std::vector<std::string>(static_cast<std::size_t>(item) / 6, std::to_string(item));
                  })
          .sink(Kind::serial_in_order, "keep", [&](std::string&& item) { seen.push_back(std::move(item)); });
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->run({.strategy = GetParam(), .threads = 3}).status);
  std::vector<std::string> expected;
  for (int item = 0; item < 60; item += 6)
    expected.insert(expected.end(), static_cast<std::size_t>(item) / 6, std::to_string(item));
  EXPECT_EQ(seen, expected);
}

TEST_P(RunningWith, gives_each_call_a_state_of_its_own) {
  struct State {
    explicit State(std::atomic<int>& of) : alive(of) { ++alive; }
    ~State() { --alive; }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    std::atomic<int>& alive;
    std::atomic<bool> used = false;
    int calls = 0;
  };
  std::atomic<int> alive = 0;
  std::atomic<int> made = 0;
  std::atomic<bool> shared = false;
  {
    auto stream = source("count", numbers_below(500))
                      .stage_with(
                          Kind::parallel, "with",
                          [&] {
                            ++made;
                            return State(alive);
                          },
                          [&](State& state, int item) {
                            if (state.used.exchange(true)) shared = true;
                            ++state.calls;
                            if (item % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
                            state.used = false;
                            return item;
                          })
                      .sink(Kind::serial_as_they_come, "drop", [](int) {});
    ASSERT_TRUE(stream);
    EXPECT_TRUE(stream->run({.strategy = GetParam(), .threads = 3}).status);
    EXPECT_EQ(alive, made);
    EXPECT_GE(made, 1);
    EXPECT_LE(made, 3);
  }
  EXPECT_FALSE(shared);
  EXPECT_EQ(alive, 0);
}

TEST_P(RunningWith, keeps_the_exception_of_the_first_failure) {
  struct Torn : std::runtime_error {
    explicit Torn(int of) : std::runtime_error("torn"), item(of) {}
    int item;
  };
  auto stream = source("count", numbers_below(50))
                    .stage(Kind::parallel, "tear",
                           [](int item) {
                             if (item >= 20 && item % 5 == 0) throw Torn(item);
                             return item;
                           })
                    .sink(Kind::serial_in_order, "drop", [](int) {});
  ASSERT_TRUE(stream);
  const Finished finished = stream->run({.strategy = GetParam(), .threads = 3});
  ASSERT_TRUE(finished.exception);
  try {
    std::rethrow_exception(finished.exception);
  } catch (const Torn& torn) {
    EXPECT_EQ(torn.item, 20);
  }
  EXPECT_EQ(finished.cause.message, "torn");
}

TEST_P(RunningWith, may_be_led_by_any_thread_with_shared_workers_also_within_a_stage) {
  const Watchdog watchdog("shared workers");
  const auto shared = pool::SharedWorkers::create(3);
  ASSERT_TRUE(shared);
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> leaders;
    for (int leader = 0; leader < 3; ++leader)
      leaders.emplace_back([&] {
        std::atomic<int> sum = 0;
        auto stream =
            source("count", numbers_below(100))
                .stage(
                    Kind::parallel, "nested",
                    [&](int item) {
                      // Nested in a stage: a stream run by this thread alone.
                      int inner = 0;
                      auto nested =
                          source("inner", numbers_below(3)).sink(Kind::serial_in_order, "add", [&](int one) {
                            inner += one;
                          });
                      EXPECT_TRUE(nested->run({.strategy = Strategy::stealing, .threads = 1}).status);
                      return item + inner;
                    })
                .sink(Kind::serial_in_order, "add", [&](int item) { sum += item; });
        const Status done = (*shared)->run(
            3, [&](pool::Team& team) { return stream->run(team, {.strategy = GetParam()}).status; });
        EXPECT_TRUE(done);
        good += sum == 100 * 99 / 2 + 100 * 3 ? 1 : 0;
      });
  }
  EXPECT_EQ(good, 3);
}

INSTANTIATE_TEST_SUITE_P(strategies, RunningWith, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

TEST(Running, is_stopped_by_its_end_and_by_the_stop_of_its_options) {
  const Watchdog watchdog("endless");
  int next = 0;
  auto stream = source("endless", [&] {
                  return std::optional(next++);
                }).sink(Kind::serial_in_order, "drop", [](int) {});
  ASSERT_TRUE(stream);
  {
    auto running = stream->start({.threads = 1});
    ASSERT_TRUE(running);
    EXPECT_EQ(stream->run({.threads = 1}).status.error().kind, ErrorKind::usage) << "one run at a time";
    EXPECT_EQ(stream->start({.threads = 1}).error().kind, ErrorKind::usage);
  }
  std::stop_source stop;
  auto running = stream->start({.threads = 1, .stop = stop.get_token()});
  ASSERT_TRUE(running);
  stop.request_stop();
  EXPECT_EQ(running->wait().status.error().kind, ErrorKind::interrupted);
  // A stream may be destroyed before its run ends.
  std::optional<Running> alone;
  {
    auto short_lived =
        source("endless", [] { return std::optional(1); }).sink(Kind::parallel, "drop", [](int) {});
    alone.emplace(std::move(*short_lived->start({.threads = 1})));
  }
  alone->stop();
  EXPECT_FALSE(alone->wait().status);
}

TEST(Inlet, tells_where_there_is_no_room_and_leaves_the_item) {
  auto [flow, in] = inlet<std::string>("in", 2);
  std::string seen;
  auto stream =
      std::move(flow).sink(Kind::serial_in_order, "keep", [&](const std::string& item) { seen += item; });
  for (const char* const text : {"a", "b"}) {
    std::string item = text;
    EXPECT_TRUE(in.try_push(item));
  }
  std::string third = "c";
  EXPECT_FALSE(in.try_push(third));
  EXPECT_EQ(third, "c");
  in.close();
  EXPECT_TRUE(stream->run({.threads = 1}).status);
  EXPECT_EQ(seen, "ab");
}

TEST(Inlet, fails_where_the_size_of_an_item_cannot_be_told) {
  auto [flow, in] = inlet<std::string>("in", 2, [](const std::string& item) -> std::size_t {
    if (item == "b") throw std::runtime_error("no size");
    return item.size();
  });
  auto stream = std::move(flow).sink(Kind::serial_in_order, "drop", [](const std::string&) {});
  EXPECT_TRUE(in.push("a"));
  EXPECT_TRUE(in.push("b"));
  EXPECT_EQ(stream->run({.threads = 1}).cause.message, "no size");
}

TEST(Flow, takes_a_team_that_is_not_kept) {
  const auto pool = pool::WorkerPool::create();
  ASSERT_TRUE(pool);
  EXPECT_EQ((*pool)->size(), pool::usable_workers());
  auto stream = source("count", numbers_below(3)).sink(Kind::parallel, "drop", [](int) {});
  EXPECT_TRUE(stream->run((*pool)->team()).status);
  EXPECT_EQ(stream->run({.threads = -1}).status.error().kind, ErrorKind::usage);
}

TEST(Flow, refuses_limits_that_mean_nothing) {
  for (const auto& [kind, limit] : {std::pair(Kind::parallel, -1), std::pair(Kind::serial_in_order, 2)}) {
    const auto stream = source("count", numbers_below(3)).sink(kind, "drop", [](int) {}, {.limit = limit});
    ASSERT_FALSE(stream);
    EXPECT_NE(stream.error().message.find("'drop'"), std::string::npos) << stream.error().message;
  }
}

TEST(Flow, fails_the_item_for_which_no_state_can_be_made) {
  auto stream = source("count", numbers_below(3))
                    .stage_with(
                        Kind::parallel, "with", []() -> int { throw std::runtime_error("no codec"); },
                        [](int&, int item) { return item; })
                    .sink(Kind::parallel, "drop", [](int) {});
  const Finished finished = stream->run({.threads = 1});
  EXPECT_EQ(finished.status.error().message, "stage 'with' failed at item 0: no codec");
  EXPECT_TRUE(finished.exception);
}

}  // namespace
}  // namespace millrace::stream
