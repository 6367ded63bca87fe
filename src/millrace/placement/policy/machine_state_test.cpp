#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/policy/machine_state.h"
#include "millrace/placement/task/task_files.h"

#include <atomic>
#include <latch>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(MachineState, MoreThanOneSilentCpuOfFourIsTaken) {
  EXPECT_FALSE(taken_by_others(1, 0));
  EXPECT_TRUE(taken_by_others(1, 1));
  EXPECT_TRUE(taken_by_others(2, 1));
  EXPECT_FALSE(taken_by_others(4, 1));
  EXPECT_TRUE(taken_by_others(4, 2));
  EXPECT_FALSE(taken_by_others(8, 2));
  EXPECT_TRUE(taken_by_others(8, 3));
}

TEST(MachineState, CpusThatCannotBeAskedCountAsTaken) { EXPECT_TRUE(taken_by_others(0, 0)); }

TEST(MachineState, OfManyCpusSomeAreAskedFromOneEndToTheOther) {
  EXPECT_THAT(cpus_to_ask(CpuSet::range(0, 1), 8), ElementsAre(0, 1));
  EXPECT_THAT(cpus_to_ask(CpuSet::range(0, 15), 4), ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(cpus_to_ask({1, 5, 6, 70, 99}, 2), ElementsAre(1, 6));
  EXPECT_THAT(cpus_to_ask({}, 8), IsEmpty());
}

// How many threads share the highest CPU, and whether they hand work to each other.
class BusyCpu : public testing::TestWithParam<std::pair<int, bool>> {};

TEST_P(BusyCpu, IsTaken) {
  const CpuSet allowed = machine::current_thread_affinity().value();
  if (allowed.count() < 2) GTEST_SKIP() << "the one CPU is also that of the thread that asks";
  const CpuSet busy{allowed.highest()};
  const auto [count, hand_over] = GetParam();
  std::atomic<bool> done = false;
  std::atomic<int> turn = 0;
  std::latch bound(count);
  const auto work = [&, count = count, hand_over = hand_over](int own) {
    ASSERT_TRUE(machine::bind_thread(0, busy));
    bound.count_down();
    while (!done.load(std::memory_order_relaxed)) {
      if (!hand_over) continue;
      for (int now = turn.load(); now != own && !done; now = turn.load())
        turn.wait(now);
      const std::int64_t end = now_ns() + 200'000;
      while (now_ns() < end) {
      }
      turn = (own + 1) % count;
      turn.notify_all();
    }
    turn = -1;
    turn.notify_all();
  };
  {
    std::vector<std::jthread> others;
    for (int own = 0; own < count; ++own)
      others.emplace_back(work, own);
    bound.wait();
    // A probe is lucky now and then, but not nearly always.
    const auto mostly_taken = [&] {
      int taken = 0;
      for (int look = 0; look < 20; ++look)
        if (others_are_running(busy)) ++taken;
      return taken >= 18;
    };
    EXPECT_TRUE(eventually(mostly_taken));
    done = true;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, BusyCpu,
                         testing::Values(std::pair(1, false), std::pair(2, false), std::pair(5, false),
                                         std::pair(2, true), std::pair(5, true)),
                         [](const auto& test) {
                           return std::to_string(test.param.first) + (test.param.second ? "_in_turn" : "");
                         });

TEST(MachineState, AskingLeavesTheCallersMaskAndNoThread) {
  const CpuSet allowed = machine::current_thread_affinity().value();
  const std::size_t threads = list_threads(getpid()).size();
  std::ignore = others_are_running(allowed);
  EXPECT_EQ(list_threads(getpid()).size(), threads);
  EXPECT_EQ(machine::current_thread_affinity().value(), allowed);
}

TEST(MachineState, WhatOthersTookIsWhatWasBusyWithoutTheProgram) {
  const std::vector<double> load = {1.0, 0.5, 1.0, 1.0};
  // Two CPUs for ten seconds: busy for fifteen of twenty, ten of them by the program.
  EXPECT_DOUBLE_EQ(taken_share(load, {0, 1}, 10, 10), 0.25);
  EXPECT_DOUBLE_EQ(taken_share(load, {0, 1}, 10, 15), 0);
  EXPECT_DOUBLE_EQ(taken_share(load, {0, 1}, 10, 16), 0) << "rounding";
  EXPECT_DOUBLE_EQ(taken_share(load, {2, 3}, 10, 0), 1);
  EXPECT_DOUBLE_EQ(taken_share({}, {0, 1}, 10, 0), 0);
}

}  // namespace
}  // namespace millrace::placement
