// Stages that wait for something outside without holding a thread, with continuations and with coroutines.
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/pool/serial_team.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/inlet.h"
#include "millrace/stream/later_testing.h"
#include "millrace/stream/random_pipeline_testing.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

auto items_up_to(int count) {
  return [count, next = 0]() mutable -> std::optional<int> {
    return next < count ? std::optional(next++) : std::nullopt;
  };
}

std::vector<int> all_items_up_to(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Values left behind by threads.
template <class T> class Kept {
 public:
  void add(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }
  [[nodiscard]] std::vector<T> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(values_, {});
  }
  void await(std::size_t count) const {
    while (size() < count)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<T> values_;
};

using KeptItems = Kept<std::pair<int, Continuation<int>>>;

class WaitingStages : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }

  [[nodiscard]] RunOptions options(int tokens = 0, int limit_threads = 0) const {
    return {.strategy = GetParam(), .threads = limit_threads, .tokens = tokens};
  }

  Watchdog watchdog_{testing::UnitTest::GetInstance()->current_test_info()->name()};
  std::unique_ptr<pool::WorkerPool> pool_ = std::move(*pool::WorkerPool::create(3));
  pool::PoolTeam team_ = pool_->team();
};

TEST_P(WaitingStages, hand_on_in_order_what_is_resumed_in_any_order) {
  for (const Kind kind : {Kind::parallel, Kind::serial_in_order, Kind::serial_as_they_come}) {
    Later later;
    std::vector<int> seen;
    auto stream = source("count", items_up_to(500))
                      .stage<int>(kind, "wait",
                                  [&](int item, Continuation<int> done) {
                                    later.post([item, done = std::move(done)] { done.resume(2 * item); });
                                  })
                      .stage(Kind::parallel, "halve", [](int item) { return item / 2; })
                      .sink(Kind::serial_in_order, "keep", [&](int item) { seen.push_back(item); });
    ASSERT_TRUE(stream) << stream.error().message;
    RunOptions traced = options();
    traced.trace = Trace::summary;
    const Finished finished = stream->run(team_, traced);
    ASSERT_TRUE(finished.status) << finished.status.error().message;
    EXPECT_EQ(seen, all_items_up_to(500)) << kind_name(kind);
    const StageReport& wait = finished.report.stages[1];
    EXPECT_EQ(wait.items_in, 500U);
    EXPECT_EQ(wait.items_out, 500U);
    EXPECT_GT(wait.waited_s, 0);
  }
}

TEST_P(WaitingStages, let_as_many_items_wait_as_there_are_tokens_on_one_thread) {
  // `auto` reviews the run after 64 items, when all of them have left.
  constexpr int tokens = 32;
  KeptItems begun;
  std::jthread resuming([&] {
    for (int round = 0; round < 2; ++round) {
      begun.await(tokens);
      for (const auto& [item, done] : begun.take())
        EXPECT_TRUE(done.resume(item));
    }
  });
  std::vector<int> seen;
  auto stream = source("count", items_up_to(2 * tokens))
                    .stage<int>(Kind::parallel, "wait",
                                [&](int item, Continuation<int> done) { begun.add({item, std::move(done)}); })
                    .sink(Kind::serial_as_they_come, "keep", [&](int item) { seen.push_back(item); });
  ASSERT_TRUE(stream);
  pool::SerialTeam team;
  const Finished finished = stream->run(team, options(tokens));
  EXPECT_TRUE(finished.status);
  EXPECT_EQ(seen.size(), 2U * tokens);
}

TEST_P(WaitingStages, take_no_other_item_while_a_serial_one_waits) {
  for (const Kind kind : {Kind::serial_in_order, Kind::serial_as_they_come}) {
    Later later;
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    auto stream = source("count", items_up_to(100))
                      .stage<int>(kind, "wait",
                                  [&](int item, Continuation<int> done) {
                                    most = std::max(most.load(), ++inside);
                                    later.post([&, item, done = std::move(done)] {
                                      --inside;
                                      done.resume(item);
                                    });
                                  })
                      .sink(Kind::parallel, "sink", [](int) {});
    ASSERT_TRUE(stream);
    EXPECT_TRUE(stream->run(team_, options()).status);
    EXPECT_EQ(most, 1);
  }
}

TEST_P(WaitingStages, are_held_to_their_limit) {
  Later later;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  auto stream = source("count", items_up_to(300))
                    .stage<int>(Kind::parallel, "wait",
                                [&](int item, Continuation<int> done) {
                                  const int now = ++inside;
                                  int before = most;
                                  while (before < now && !most.compare_exchange_weak(before, now)) {
                                  }
                                  later.post([&, item, done = std::move(done)] {
                                    --inside;
                                    done.resume(item);
                                  });
                                },
                                {.limit = 3})
                    .sink(Kind::serial_in_order, "sink", [](int) {});
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->run(team_, options(50)).status);
  EXPECT_LE(most, 3);
  EXPECT_GE(most, 1);
}

TEST_P(WaitingStages, count_against_bytes_while_they_wait) {
  Later later;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  auto stream = source("count", items_up_to(60), {.bytes = [](const int&) { return std::size_t{10}; }})
                    .stage<int>(Kind::parallel, "wait",
                                [&](int item, Continuation<int> done) {
                                  const int now = ++inside;
                                  if (now > most) most = now;
                                  later.post([item, done = std::move(done)] { done.resume(item); });
                                })
                    .sink(Kind::serial_in_order, "sink", [&](int) { --inside; });
  ASSERT_TRUE(stream);
  RunOptions small = options(50);
  small.byte_budget = 20;
  const Finished finished = stream->run(team_, small);
  EXPECT_TRUE(finished.status);
  EXPECT_LE(most, 2);
  EXPECT_LE(finished.report.peak_bytes, 20U);
}

TEST_P(WaitingStages, go_on_at_once_with_what_is_resumed_inside_the_call) {
  std::vector<int> seen;
  auto stream = source("count", items_up_to(1000))
                    .stage<int>(Kind::parallel, "at once",
                                [](int item, const Continuation<int>& done) {
                                  EXPECT_FALSE(done.is_over());
                                  EXPECT_TRUE(done.resume(item));
                                  EXPECT_TRUE(done.is_over());
                                })
                    .stage<int>(Kind::serial_as_they_come, "by another, and awaited",
                                [](int item, Continuation<int> done) {
                                  if (item % 100 != 0)
                                    done.resume(item);
                                  else
                                    std::jthread([&] { EXPECT_TRUE(done.resume(item)); }).join();
                                })
                    .sink(Kind::serial_in_order, "keep", [&](int item) { seen.push_back(item); });
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->run(team_, options()).status);
  EXPECT_EQ(seen, all_items_up_to(1000));
}

TEST_P(WaitingStages, heed_the_first_of_several_that_complete_an_item) {
  Later one(1);
  Later other(2);
  std::atomic<int> first = 0;
  std::atomic<int> alive = 0;
  std::vector<std::uint64_t> seen;
  auto stream =
      source("count", items_up_to(400))
          .stage<Counted>(Kind::parallel, "race",
                          [&](int item, const Continuation<Counted>& done) {
                            for (Later* later : {&one, &other})
                              later->post([&, item, done] {
                                if (done.resume(Counted(static_cast<std::uint64_t>(item), alive))) ++first;
                              });
                          })
          .sink(Kind::serial_in_order, "keep", [&](const Counted& item) { seen.push_back(item.value()); });
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->run(team_, options()).status);
  one.end();
  other.end();
  EXPECT_EQ(first, 400);
  EXPECT_EQ(seen.size(), 400U);
  EXPECT_EQ(alive, 0);
}

TEST_P(WaitingStages, may_drop_items_and_be_the_last) {
  Later later;
  Kept<int> seen;
  auto stream = source("count", items_up_to(100))
                    .stage<int>(Kind::parallel, "even ones only",
                                [&](int item, Continuation<int> done) {
                                  later.post([item, done = std::move(done)] {
                                    if (item % 2 == 0)
                                      done.resume(item);
                                    else
                                      done.drop();
                                  });
                                })
                    .sink(Kind::serial_in_order, "send", [&](int item, Continuation<void> done) {
                      seen.add(item);
                      later.post([done = std::move(done)] { done.resume(); });
                    });
  ASSERT_TRUE(stream) << stream.error().message;
  const Finished finished = stream->run(team_, options());
  ASSERT_TRUE(finished.status);
  const std::vector<int> sent = seen.take();
  ASSERT_EQ(sent.size(), 50U);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(sent[static_cast<std::size_t>(i)], 2 * i);
  EXPECT_EQ(finished.report.stages[1].items_out, 50U);
}

enum class HowItFails { error, exception, thrown_before, thrown_behind, returned, forgotten };

TEST_P(WaitingStages, fail_at_their_item_with_what_is_told_thrown_or_forgotten) {
  using enum HowItFails;
  for (const HowItFails how : {error, exception, thrown_before, thrown_behind, returned, forgotten}) {
    Later later;
    std::atomic<int> alive = 0;
    std::vector<std::uint64_t> seen;
    auto stream =
        source("count", items_up_to(40))
            .stage<Counted>(
                Kind::parallel, "wait",
                [&, how](int item, const Continuation<Counted>& done) -> Status {
                  const auto resumes = [&alive, item, done] {
                    done.resume(Counted(static_cast<std::uint64_t>(item), alive));
                  };
                  if (item != 20 || how == thrown_behind) later.post(resumes);
                  if (item != 20) return {};
                  if (how == error) later.post([done] { done.fail(Error{ErrorKind::failure, "gone"}); });
                  if (how == exception)
                    later.post([done] { done.fail(std::make_exception_ptr(std::runtime_error("gone"))); });
                  if (how == thrown_behind) resumes();
                  if (how == thrown_before || how == thrown_behind) throw std::runtime_error("gone");
                  if (how == returned) return failure("gone");
                  return {};
                })
            .sink(Kind::serial_in_order, "keep", [&](const Counted& item) { seen.push_back(item.value()); });
    ASSERT_TRUE(stream);
    const Finished finished = stream->run(team_, options());
    later.end();
    SCOPED_TRACE(static_cast<int>(how));
    ASSERT_FALSE(finished.status);
    EXPECT_EQ(finished.status.error().message,
              how == forgotten ? "stage 'wait' failed at item 20: its continuation was destroyed before "
                                 "anybody had resumed it; resume, fail or drop every one"
                               : "stage 'wait' failed at item 20: gone");
    EXPECT_EQ(static_cast<bool>(finished.exception),
              how == exception || how == thrown_before || how == thrown_behind);
    EXPECT_EQ(seen.size(), 20U);
    EXPECT_EQ(alive, 0);
  }
}

// Item 0 is before the failure, so the run waits for it. Later items are given up and may never be resumed.
TEST_P(WaitingStages, wait_after_a_failure_for_what_is_before_it_and_give_up_the_rest) {
  KeptItems begun;
  std::vector<int> seen;
  std::jthread resuming([&] {
    begun.await(4);
    auto all = begun.take();
    std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
    EXPECT_TRUE(all[1].second.fail(Error{ErrorKind::failure, "one"}));
    for (const int behind : {2, 3}) {
      const auto& done = all[static_cast<std::size_t>(behind)].second;
      EXPECT_TRUE(eventually([&] { return done.is_over(); })) << "at the latest when its call is over";
      EXPECT_FALSE(done.resume(behind));
    }
    EXPECT_FALSE(all[0].second.is_over());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_TRUE(all[0].second.resume(0));
  });
  auto stream = source("count", items_up_to(4))
                    .stage<int>(Kind::parallel, "wait",
                                [&](int item, Continuation<int> done) { begun.add({item, std::move(done)}); })
                    .sink(Kind::serial_in_order, "keep", [&](int item) { seen.push_back(item); });
  ASSERT_TRUE(stream);
  const Finished finished = stream->run(team_, options(8));
  ASSERT_FALSE(finished.status);
  EXPECT_EQ(finished.cause.message, "one");
  EXPECT_EQ(seen, all_items_up_to(1));
}

TEST_P(WaitingStages, that_nobody_resumes_end_at_a_stop_and_may_be_resumed_in_vain_at_any_time) {
  std::atomic<int> alive = 0;
  std::vector<Continuation<Counted>> late;
  std::vector<Continuation<void>> sent;
  {
    Kept<Continuation<Counted>> begun;
    auto [flow, in] = inlet<int>("in", 8);
    auto stream =
        std::move(flow)
            .stage<Counted>(Kind::parallel, "wait",
                            [&](int /*item*/, Continuation<Counted> done) { begun.add(std::move(done)); })
            .sink(Kind::serial_in_order, "never", [](const Counted&) { ADD_FAILURE(); });
    ASSERT_TRUE(stream);
    auto running = stream->start({.strategy = GetParam(), .threads = 2});
    ASSERT_TRUE(running) << running.error().message;
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(in.push(i));
    begun.await(5);
    EXPECT_FALSE(running->is_over());
    running->stop();
    EXPECT_EQ(running->wait().status.error().kind, ErrorKind::interrupted);
    late = begun.take();
    EXPECT_FALSE(late[0].resume(Counted(0, alive)));
  }
  for (const auto& done : late) {
    EXPECT_TRUE(done.is_over());
    EXPECT_FALSE(done.resume(Counted(1, alive))) << "the stream is gone, too";
    EXPECT_FALSE(done.drop());
    EXPECT_FALSE(done.fail(Error{}));
  }
  EXPECT_EQ(alive, 0);
}

// A thread may still be resuming an item when the run has ended.
TEST_P(WaitingStages, may_be_resumed_by_many_at_the_moment_when_the_run_ends) {
  for (int round = 0; round < 30; ++round) {
    std::atomic<int> alive = 0;
    Kept<Continuation<Counted>> begun;
    std::stop_source stop;
    std::vector<std::jthread> resuming;
    {
      auto stream =
          source("count", items_up_to(6))
              .stage<Counted>(Kind::parallel, "wait",
                              [&](int /*item*/, Continuation<Counted> done) { begun.add(std::move(done)); })
              .sink(Kind::parallel, "sink", [](const Counted&) {});
      ASSERT_TRUE(stream);
      resuming.emplace_back([&] {
        begun.await(6);
        const auto all = begun.take();
        std::jthread stopping([&] {
          if (round % 2 == 0) stop.request_stop();
        });
        std::vector<std::jthread> more;
        for (int who = 0; who < 3; ++who)
          more.emplace_back([&] {
            for (const auto& done : all)
              done.resume(Counted(0, alive));
          });
      });
      RunOptions stoppable = options(6);
      stoppable.stop = stop.get_token();
      const Finished finished = stream->run(team_, stoppable);
      EXPECT_TRUE(finished.status || finished.status.error().kind == ErrorKind::interrupted);
    }
    resuming.clear();
    EXPECT_EQ(alive, 0);
  }
}

TEST_P(WaitingStages, may_be_coroutines) {
  Later later;
  std::vector<std::string> seen;
  Kept<std::string> sent;
  auto stream =
      source("count", items_up_to(60))
          .stage(Kind::parallel, "ask twice",
                 [&](int item) -> Waiting<std::string> {
                   // The awaited operation answers by a callback on another thread.
                   const int doubled = co_await await_callback<int>(
                       [&](auto done) { later.post([=]() mutable { done(2 * item); }); });
                   if (item == 7) co_return std::nullopt;
                   if (item == 50) throw std::runtime_error("fifty");
                   if (item == 51) co_return std::unexpected(Error{ErrorKind::failure, "unused"});
                   const auto text = co_await await_callback<std::string>(
                       [&](auto done) { later.post([=]() mutable { done(std::to_string(doubled)); }); });
                   co_return text + "!";
                 })
          .stage(Kind::parallel, "at once",
                 [](std::string text) -> Waiting<std::string> { co_return text + "?"; })
          .sink(Kind::serial_in_order, "send", [&](std::string text) -> Waiting<void> {
            co_await await_callback<int>([&](auto done) { later.post([=]() mutable { done(0); }); });
            seen.push_back(text);
          });
  ASSERT_TRUE(stream) << stream.error().message;
  const Finished finished = stream->run(team_, options());
  ASSERT_FALSE(finished.status);
  EXPECT_EQ(finished.status.error().message, "stage 'ask twice' failed at item 50: fifty");
  EXPECT_TRUE(finished.exception);
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i)
    if (i != 7) expected.push_back(std::to_string(2 * i) + "!?");
  EXPECT_EQ(seen, expected);
  later.end();
}

TEST_P(WaitingStages, run_again_and_nested) {
  Later later;
  std::atomic<int> sum = 0;
  auto make = [&](int count) {
    return std::move(*source("count",
                             [count, next = 0]() mutable -> std::optional<int> {
                               if (next < count) return next++;
                               next = 0;
                               return std::nullopt;
                             })
                          .stage<int>(Kind::parallel, "wait",
                                      [&](int item, Continuation<int> done) {
                                        later.post([item, done = std::move(done)] { done.resume(item); });
                                      })
                          .sink(Kind::serial_in_order, "add", [&](int item) { sum += item; }));
  };
  Stream outer = std::move(*source("count", items_up_to(3)).sink(Kind::parallel, "run", [&](int) -> Status {
    Stream inner = make(20);
    for (int i = 0; i < 2; ++i)
      if (Finished inner_run = inner.run({.strategy = GetParam(), .threads = 1}); !inner_run.status)
        return inner_run.status;
    return {};
  }));
  EXPECT_TRUE(outer.run(team_, options()).status);
  EXPECT_EQ(sum, 3 * 2 * 190);
}

INSTANTIATE_TEST_SUITE_P(strategies, WaitingStages, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

TEST(WaitingStage, is_not_to_be_blocking) {
  auto stream =
      source("count", items_up_to(1))
          .stage<int>(Kind::parallel, "wait",
                      [](int item, const Continuation<int>& done) { done.resume(item); }, {.blocking = true})
          .sink(Kind::parallel, "sink", [](int) {});
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().kind, ErrorKind::usage);
  EXPECT_EQ(stream.error().message,
            "stage 'wait' waits by a continuation and holds no thread, so it is not to "
            "be blocking; leave one of the two out");
}

}  // namespace
}  // namespace millrace::stream
