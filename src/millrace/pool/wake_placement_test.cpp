#include "millrace/pool/wake_placement.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include <gtest/gtest.h>

namespace millrace::pool {
namespace {

constexpr std::int64_t quick_ns = 40'000;
constexpr std::int64_t slow_ns = WakePlacement::slow_ns + 1;

// One sleep and one wake-up; whether it slept apart.
bool sleep_once(WakePlacement& placement, bool beside, bool pulled, std::int64_t took_ns = quick_ns) {
  const bool apart = placement.sleeps_apart(beside);
  placement.woken(pulled, took_ns);
  return apart;
}

// How many sleeps pass until it sleeps apart; `most` if it does not before.
int sleeps_until_apart(WakePlacement& placement, bool beside, bool pulled, int most = 100'000) {
  int sleeps = 0;
  while (sleeps < most && !sleep_once(placement, beside, pulled))
    ++sleeps;
  return sleeps;
}

TEST(WakePlacementTest, a_thread_that_is_woken_where_it_slept_never_sleeps_apart) {
  WakePlacement placement;
  for (const std::int64_t took : {std::int64_t{0}, quick_ns, slow_ns})
    for (int i = 0; i < 1000; ++i)
      EXPECT_FALSE(sleep_once(placement, false, false, took));
}

TEST(WakePlacementTest, a_thread_that_was_pulled_once_sleeps_apart_from_then_on) {
  WakePlacement placement;
  EXPECT_FALSE(sleep_once(placement, false, true));
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(sleep_once(placement, false, false));
}

TEST(WakePlacementTest, so_does_one_that_meets_its_waker_many_times_in_a_row) {
  WakePlacement placement;
  EXPECT_EQ(sleeps_until_apart(placement, true, false), WakePlacement::patience - 1);
}

TEST(WakePlacementTest, meetings_with_sleeps_elsewhere_between_them_do_not_count) {
  WakePlacement placement;
  for (int i = 0; i < 100; ++i) {
    for (int k = 1; k < WakePlacement::patience; ++k)
      EXPECT_FALSE(sleep_once(placement, true, false));
    EXPECT_FALSE(sleep_once(placement, false, false));
  }
}

// The two ways of meeting another program: it ran when the thread was woken, twice, or it took the CPU away
// later.
class WakePlacementBesideAnotherProgramTest : public testing::TestWithParam<bool> {
 protected:
  void meet_another() {
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(sleep_once(placement_, false, false, GetParam() ? slow_ns : quick_ns));
    if (!GetParam()) placement_.preempted();
  }

  WakePlacement placement_;
};

TEST_P(WakePlacementBesideAnotherProgramTest, sleeping_apart_ends_and_asks_for_more_evidence_each_time) {
  int hold = 1;
  const auto more = [&] { hold = std::min(hold * WakePlacement::hold_factor, WakePlacement::most_hold); };
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(sleeps_until_apart(placement_, false, true), hold);
    meet_another();
    more();
    EXPECT_FALSE(sleep_once(placement_, false, false));
    EXPECT_EQ(sleeps_until_apart(placement_, true, false), WakePlacement::patience * hold - 1);
    meet_another();
    more();
  }
  EXPECT_EQ(hold, WakePlacement::most_hold) << "the range was walked through";
}

TEST_P(WakePlacementBesideAnotherProgramTest, is_forgotten_after_many_sleeps_alone) {
  EXPECT_EQ(sleeps_until_apart(placement_, false, true), 1);
  meet_another();
  EXPECT_EQ(sleeps_until_apart(placement_, false, true), WakePlacement::hold_factor);
  for (int i = 0; i < WakePlacement::forgotten_after; ++i)
    EXPECT_TRUE(sleep_once(placement_, false, false));
  meet_another();
  EXPECT_EQ(sleeps_until_apart(placement_, false, true), WakePlacement::hold_factor)
      << "as after the first time, not as after the second";
}

INSTANTIATE_TEST_SUITE_P(Ways, WakePlacementBesideAnotherProgramTest, testing::Bool(),
                         [](const auto& way) { return way.param ? "when_woken" : "later"; });

TEST(WakePlacementTest, slow_wake_ups_with_many_between_them_that_are_not_change_nothing) {
  WakePlacement placement;
  EXPECT_FALSE(sleep_once(placement, false, true));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(sleep_once(placement, false, false, slow_ns));
    for (int k = 0; k < WakePlacement::slow_weight; ++k)
      EXPECT_TRUE(sleep_once(placement, false, false));
  }
  EXPECT_TRUE(sleep_once(placement, false, false, slow_ns));
  for (int k = 1; k < WakePlacement::slow_weight; ++k)
    EXPECT_TRUE(sleep_once(placement, false, false));
  EXPECT_TRUE(sleep_once(placement, false, false, slow_ns));
  EXPECT_FALSE(sleep_once(placement, false, false));
}

TEST(WakePlacementTest, a_wake_up_whose_time_is_unknown_says_nothing_of_speed) {
  WakePlacement placement;
  EXPECT_FALSE(sleep_once(placement, false, true));
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(sleep_once(placement, false, false, 0));
}

}  // namespace
}  // namespace millrace::pool
