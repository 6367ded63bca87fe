#include "millrace/machine/narrowed_affinity.h"
#include "millrace/machine/thread_affinity.h"

#include <sched.h>

#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

CpuSet mask_now() { return current_thread_affinity().value_or(CpuSet{}); }

// On two CPUs at least, which are given back.
class NarrowedAffinityTest : public testing::Test {
 protected:
  void SetUp() override {
    if (whole_.count() < 2) GTEST_SKIP() << "needs two CPUs";
  }

  AffinityGuard guard_;
  CpuSet whole_ = mask_now();
  NarrowedAffinity affinity_{whole_};
};

TEST_F(NarrowedAffinityTest, KeepsOffAnyCpuAndGivesItBack) {
  for (const int cpu : whole_) {
    EXPECT_TRUE(affinity_.keep_off(cpu));
    EXPECT_EQ(mask_now(), whole_ - CpuSet{cpu});
    EXPECT_NE(sched_getcpu(), cpu);
    affinity_.restore();
    EXPECT_EQ(mask_now(), whole_);
  }
}

TEST_F(NarrowedAffinityTest, StaysOnAnyCpuAndGivesTheOthersBack) {
  for (const int cpu : whole_) {
    EXPECT_TRUE(affinity_.stay_on(cpu));
    EXPECT_EQ(mask_now(), CpuSet{cpu});
    affinity_.restore();
    EXPECT_EQ(mask_now(), whole_);
  }
}

TEST_F(NarrowedAffinityTest, ACpuOutsideTheMaskChangesNothing) {
  for (const int cpu : {-1, whole_.highest() + 1, CpuSet::limit - 1, CpuSet::limit, 1 << 30}) {
    EXPECT_FALSE(affinity_.keep_off(cpu)) << cpu;
    EXPECT_FALSE(affinity_.stay_on(cpu)) << cpu;
    EXPECT_EQ(mask_now(), whole_);
  }
}

TEST_F(NarrowedAffinityTest, TheOnlyCpuIsNotGivenUp) {
  const CpuSet one{whole_.lowest()};
  ASSERT_TRUE(bind_current_thread(one));
  NarrowedAffinity affinity(one);
  EXPECT_FALSE(affinity.keep_off(one.lowest()));
  EXPECT_FALSE(affinity.stay_on(one.lowest()));
  affinity.restore();
  EXPECT_EQ(mask_now(), one);
}

TEST_F(NarrowedAffinityTest, AMaskThatSomebodyElseHasSetIsNotNarrowed) {
  const CpuSet theirs{whole_.highest()};
  ASSERT_TRUE(bind_current_thread(theirs));
  EXPECT_FALSE(affinity_.keep_off(whole_.lowest()));
  EXPECT_FALSE(affinity_.stay_on(whole_.lowest()));
  affinity_.restore();
  EXPECT_EQ(mask_now(), theirs);
}

TEST_F(NarrowedAffinityTest, AMaskThatSomebodyElseSetsMeanwhileStays) {
  const CpuSet theirs{whole_.lowest()};
  ASSERT_TRUE(affinity_.keep_off(whole_.lowest()));
  ASSERT_TRUE(bind_current_thread(theirs));
  affinity_.restore();
  EXPECT_EQ(mask_now(), theirs);
}

TEST_F(NarrowedAffinityTest, RestoresOnce) {
  ASSERT_TRUE(affinity_.stay_on(whole_.lowest()));
  affinity_.restore();
  const CpuSet theirs{whole_.lowest()};
  ASSERT_TRUE(bind_current_thread(theirs));
  affinity_.restore();
  EXPECT_EQ(mask_now(), theirs);
}

TEST_F(NarrowedAffinityTest, OneThatKnowsNoMaskDoesNothing) {
  NarrowedAffinity nothing;
  EXPECT_FALSE(nothing.keep_off(whole_.lowest()));
  EXPECT_FALSE(nothing.stay_on(whole_.lowest()));
  nothing.restore();
  EXPECT_EQ(mask_now(), whole_);
}

}  // namespace
}  // namespace millrace::machine
