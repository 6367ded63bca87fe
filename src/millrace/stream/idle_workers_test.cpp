#include "millrace/stream/idle_workers.h"
#include "millrace/stream/watchdog_testing.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

// Work is a number that producers count up and workers down; with one unit at a time a lost wake-up hangs.
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
  for (int unit = 0; unit < units; ++unit) {
    ++work;
    idle.announce_work();
    // Mostly wait until it is done, so that the workers go to sleep at every moment.
    while (unit % 7 != 0 && done <= unit - 8)
      std::this_thread::yield();
  }
  while (done < units)
    std::this_thread::yield();
  over = true;
  idle.wake_all();
  workers.clear();
  EXPECT_EQ(work, 0);
}

INSTANTIATE_TEST_SUITE_P(workers, IdleWorkersOf, testing::Values(1, 2, 4));

}  // namespace
}  // namespace millrace::stream
