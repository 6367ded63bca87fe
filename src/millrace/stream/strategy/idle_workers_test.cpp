#include "millrace/base/testing/eventually_testing.h"
#include "millrace/stream/strategy/idle_workers.h"
#include "millrace/stream/watchdog_testing.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

constexpr std::chrono::seconds most_time(5);

// Work is a number that producers increase and workers decrease. With one unit at a time, a lost wake-up
// hangs.
class IdleWorkersOf : public testing::TestWithParam<int> {};

TEST_P(IdleWorkersOf, never_all_sleep_while_there_is_work) {
  const Watchdog watchdog("idle workers");
  constexpr int units = 5000;
  IdleWorkers idle;
  std::atomic<int> work = 0;
  std::atomic<int> done = 0;
  std::atomic<bool> over = false;
  const auto work_left = [&] { return over.load() || work.load() > 0; };
  std::vector<std::jthread> workers;
  for (int i = 0; i < GetParam(); ++i)
    workers.emplace_back([&] {
      bool searching = false;
      while (!over) {
        int available = work;
        if (available > 0 && work.compare_exchange_strong(available, available - 1)) {
          if (searching) idle.end_search(work_left);
          searching = false;
          ++done;
          continue;
        }
        if (!searching) idle.begin_search();
        searching = true;
        if (!work_left()) idle.sleep(work_left);
      }
    });
  // As many as there is time for. On busy cores, each takes long.
  const auto until = std::chrono::steady_clock::now() + most_time;
  int unit = 0;
  for (; unit < units && std::chrono::steady_clock::now() < until; ++unit) {
    ++work;
    idle.announce_work();
    // Mostly wait for completion, so that the workers go to sleep at every possible moment.
    while (unit % 7 != 0 && done <= unit - 8)
      std::this_thread::yield();
  }
  while (done < unit)
    std::this_thread::yield();
  over = true;
  idle.wake_all();
  workers.clear();
  EXPECT_EQ(work, 0);
}

INSTANTIATE_TEST_SUITE_P(workers, IdleWorkersOf, testing::Values(1, 2, 4));

TEST(IdleWorkers, wake_by_themselves_when_their_patience_is_over) {
  const Watchdog watchdog("patience");
  IdleWorkers idle;
  idle.begin_search();
  const auto no_work = [] { return false; };
  EXPECT_FALSE(idle.sleep(no_work, [] { return std::int64_t{1'000'000}; }));
  // Search again: there is no sleeper to wake.
  idle.announce_work();
  EXPECT_FALSE(idle.sleep(no_work, [] { return std::int64_t{0}; }));
  idle.end_search(no_work);
}

TEST(IdleWorkers, are_woken_before_their_patience_is_over) {
  const Watchdog watchdog("long patience");
  IdleWorkers idle;
  std::atomic<bool> asked = false;
  std::jthread worker([&] {
    idle.begin_search();
    EXPECT_TRUE(idle.sleep([] { return false; },
                           [&] {
                             asked = true;
                             return std::int64_t{3'600'000'000'000};
                           }));
    idle.end_search([] { return false; });
  });
  EXPECT_TRUE(eventually([&] { return asked.load(); }));
  idle.announce_work();
}

// Each sleep ends by its own timeout or by a wake-up for any sleeper, at every possible moment.
TEST(IdleWorkers, lose_no_wake_up_to_one_who_wakes_by_himself) {
  const Watchdog watchdog("patience and wake-ups");
  constexpr int units = 3000;
  IdleWorkers idle;
  std::atomic<int> work = 0;
  std::atomic<int> done = 0;
  std::atomic<bool> over = false;
  const auto work_left = [&] { return over.load() || work.load() > 0; };
  std::vector<std::jthread> workers;
  for (int i = 0; i < 3; ++i)
    workers.emplace_back([&, patient = i == 0] {
      bool searching = false;
      while (!over) {
        int available = work;
        if (available > 0 && work.compare_exchange_strong(available, available - 1)) {
          if (searching) idle.end_search(work_left);
          searching = false;
          ++done;
          continue;
        }
        if (!searching) idle.begin_search();
        searching = true;
        idle.sleep(work_left, [&] { return patient ? IdleWorkers::forever : std::int64_t{20'000}; });
      }
    });
  // As many as there is time for. On busy cores, each takes long.
  const auto until = std::chrono::steady_clock::now() + most_time;
  int unit = 0;
  for (; unit < units && std::chrono::steady_clock::now() < until; ++unit) {
    ++work;
    idle.announce_work();
    while (unit % 7 != 0 && done <= unit - 8)
      std::this_thread::yield();
  }
  EXPECT_TRUE(eventually([&] { return done == unit; }));
  over = true;
  idle.wake_all();
}

}  // namespace
}  // namespace millrace::stream
