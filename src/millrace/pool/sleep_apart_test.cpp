#include "millrace/base/clock.h"
#include "millrace/machine/thread_affinity.h"
#include "millrace/pool/sleep_apart.h"

#include <sched.h>

#include <gtest/gtest.h>

namespace millrace::pool {
namespace {

using machine::CpuSet;

CpuSet mask_now() { return machine::current_thread_affinity().value_or(CpuSet{}); }

class SleepApartTest : public testing::Test {
 protected:
  void SetUp() override {
    if (granted_.count() < 2) GTEST_SKIP() << "needs two CPUs";
  }
  // Runs the calling thread on `cpu` now, with all CPUs granted.
  void move_to(int cpu) const {
    ASSERT_TRUE(machine::bind_current_thread({cpu}));
    ASSERT_TRUE(machine::bind_current_thread(granted_));
  }

  machine::AffinityGuard guard_;
  CpuSet granted_ = mask_now();
  int here_ = granted_.lowest();
  int there_ = granted_.highest();
  SleepApart apart_{granted_};
};

TEST_F(SleepApartTest, a_thread_that_was_pulled_to_its_waker_keeps_off_that_cpu_until_it_is_woken) {
  EXPECT_FALSE(apart_.wanted(false));
  // The kernel may move the thread between the two calls; then it was not pulled.
  bool wanted = false;
  for (int attempt = 0; attempt < 100 && !wanted; ++attempt) {
    move_to(here_);
    apart_.woken(there_, here_, 0);
    wanted = apart_.wanted(false);
  }
  ASSERT_TRUE(wanted);
  apart_.keep_off(here_);
  EXPECT_EQ(mask_now(), granted_ - CpuSet{here_});
  EXPECT_NE(sched_getcpu(), here_) << "it has moved";
  apart_.woken(there_, here_, 0);
  EXPECT_EQ(mask_now(), granted_);
}

TEST_F(SleepApartTest, a_thread_that_slept_on_its_wakers_cpu_was_not_pulled) {
  for (int i = 0; i < 10; ++i) {
    move_to(here_);
    apart_.woken(here_, here_, 0);
    EXPECT_FALSE(apart_.wanted(false));
  }
}

TEST_F(SleepApartTest, a_thread_of_which_nothing_is_known_was_not_pulled) {
  for (int i = 0; i < 10; ++i) {
    apart_.woken(-1, sched_getcpu(), 0);
    apart_.woken(there_, -1, now_ns());
    EXPECT_FALSE(apart_.wanted(false));
  }
}

TEST_F(SleepApartTest, a_thread_bound_to_one_cpu_stays_there) {
  ASSERT_TRUE(machine::bind_current_thread({here_}));
  SleepApart bound({here_});
  for (int i = 0; i < 2 * WakePlacement::patience; ++i) {
    if (bound.wanted(true)) bound.keep_off(here_);
    EXPECT_EQ(mask_now(), CpuSet{here_});
    bound.woken(here_, here_, 0);
  }
  EXPECT_EQ(mask_now(), CpuSet{here_});
}

}  // namespace
}  // namespace millrace::pool
