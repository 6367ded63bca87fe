#include "millrace/model/simulation/newborn_threads.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

using enum NewbornPlacement;

constexpr double near_ms = 1e-6;
constexpr double ages_ms = 1e9;

NewbornCase case_of(NewbornPlacement placement) {
  return {.work = {.serial_ms = 1, .birth_ms = 0.5, .thread_ms = {3, 3, 3, 3}},
          .placement = placement,
          .balancing_ms = ages_ms};
}

// Four cores and a kernel that never looks for work: one core does everything.
TEST(NewbornThreads, LeftWithTheirMakerWaitForEachOther) {
  EXPECT_NEAR(simulate_pass_ms(case_of(left_with_maker), 0), 1 + 4 * 0.5 + 4 * 3, near_ms);
}

// By hand: main shares the first core with the first thread, so the later births take twice as long until
// that thread is done. Births end at 1.5, 2.5, 3.5 and 4.5; the last thread takes 3 more.
TEST(NewbornThreads, BoundAtBirthShareACoreWithMainOnly) {
  EXPECT_NEAR(simulate_pass_ms(case_of(bound_at_birth), 0), 4.5 + 3, near_ms);
}

// Main is on the last thread's core, and has nothing more to do when that thread arrives.
TEST(NewbornThreads, MainApartMakesThemWithoutBeingHeldUp) {
  NewbornCase apart = case_of(bound_at_birth);
  apart.main_apart = true;
  EXPECT_NEAR(simulate_pass_ms(apart, 0), 1 + 4 * 0.5 + 3, near_ms);
}

// Each core balances 1 ms after the previous one and takes one of the threads left on the first core.
TEST(NewbornThreads, AreTakenByIdleCoresAsTheseBalance) {
  NewbornCase balanced = case_of(left_with_maker);
  balanced.work = {.serial_ms = 0, .birth_ms = 0, .thread_ms = {8, 8, 8, 8}};
  balanced.balancing_ms = 4;
  // At phase 0 the first core balances at 4, the second at 3, the third at 2, the fourth at 1. The second
  // gets its thread at 3, when 1/4 + 1/3 + 1/2 of the four, three and two of them are done.
  const double done_by_three = 0.25 + 1.0 / 3 + 0.5;
  EXPECT_NEAR(simulate_pass_ms(balanced, 0), 3 + 8 - done_by_three, near_ms);
}

TEST(NewbornThreads, BoundByThemselvesBeginWithTheirMaker) {
  NewbornCase late = case_of(bound_by_itself);
  late.main_apart = true;
  late.first_call_ms = 0.2;
  late.migration_ms = 0.1;
  NewbornCase early = late;
  early.placement = bound_at_birth;
  EXPECT_GT(simulate_pass_ms(late, 0), simulate_pass_ms(early, 0));
}

// Always between the longest path and the time of a single core for everything.
TEST(NewbornThreads, TakeNoLessThanTheLongestPathAndNoMoreThanAllTogether) {
  for (const NewbornPlacement placement : {left_with_maker, on_idle_core, bound_by_itself, bound_at_birth})
    for (const bool apart : {false, true})
      for (const int cores : {1, 2, 4, 7})
        for (const double balancing_ms : {0.25, 4.0}) {
          NewbornCase newborns = case_of(placement);
          newborns.work.thread_ms = {0.5, 4, 1, 2.5, 0.1};
          newborns.cores = cores;
          newborns.main_apart = apart;
          newborns.balancing_ms = balancing_ms;
          const auto& threads = newborns.work.thread_ms;
          const double ms = simulate_mean_pass_ms(newborns);
          const double all = 1 + 5 * 0.5 + std::accumulate(threads.begin(), threads.end(), 0.0);
          EXPECT_LE(ms, all + near_ms);
          EXPECT_GE(ms, all / cores - near_ms);
          EXPECT_GE(ms, 1 + 2 * 0.5 + 4 - near_ms);
        }
}

}  // namespace
}  // namespace millrace::model
