#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/limits/open_cpus.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/thread_register_testing.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <algorithm>
#include <tuple>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// A group for which the test sets the open CPUs, with either kind of kernel. Threads get the masks that such
// a kernel would give them.
class ConfinedThreads : public FollowedThreads, public testing::WithParamInterface<KernelMasks> {
 protected:
  void SetUp() override {
    if (all_.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  }
  // Waits until the thread has `mask`: a main thread is given one once its process has settled.
  void follow(ThreadRegister& threads, const CpuSet& mask) {
    threads.ask_open([this](pid_t) { return open_; }, GetParam());
    ASSERT_TRUE(threads.process_began(child_.number()));
    ASSERT_TRUE(is_given(threads, mask));
  }
  bool is_given(ThreadRegister& threads, const CpuSet& mask) const {
    return eventually([&] {
      std::ignore = threads.observe();
      return this->mask() == mask;
    });
  }
  // asked: the requested mask of the only thread.
  void becomes_open(const CpuSet& open, const CpuSet& asked) {
    open_ = open;
    const CpuSet mask = GetParam() == KernelMasks::forgets ? open : confined(asked, open);
    ASSERT_TRUE(machine::bind_thread(child_.number(), mask));
  }
  static void look(ThreadRegister& threads) {
    for (int i = 0; i < 20; ++i)
      std::ignore = threads.observe();
  }
  [[nodiscard]] CpuSet mask() const { return machine::thread_affinity(child_.number()).value(); }

  const CpuSet all_ = machine::current_thread_affinity().value();
  const CpuSet first_ = all_.first(1);
  const CpuSet rest_ = all_ - first_;
  CpuSet open_ = all_;
  const ForkedProcess child_;
};

TEST_P(ConfinedThreads, ArePlacedOnWhatIsOpenNowAndGivenBackEverything) {
  ThreadRegister threads(machine_state_, first_allowed(), journal_);
  follow(threads, first_);
  becomes_open(rest_, first_);
  look(threads);
  EXPECT_EQ(threads.allowed(), rest_);
  EXPECT_TRUE(is_given(threads, rest_.first(1)));
  becomes_open(all_, rest_.first(1));
  look(threads);
  EXPECT_EQ(threads.allowed(), all_);
  EXPECT_TRUE(is_given(threads, first_));
  EXPECT_TRUE(threads.counts().left_alone.empty());
  EXPECT_EQ(threads.restore().failed, 0);
  EXPECT_EQ(mask(), all_);
}

TEST_P(ConfinedThreads, AreGivenBackEverythingThoughNobodyLookedSince) {
  ThreadRegister threads(machine_state_, first_allowed(), journal_);
  follow(threads, first_);
  becomes_open(rest_, first_);
  EXPECT_EQ(threads.restore().failed, 0);
  EXPECT_EQ(mask(), all_) << "of which such a kernel grants what is open";
}

TEST_P(ConfinedThreads, WhoseMaskIsTheProgramsAreLeftAloneAsBefore) {
  ThreadRegister threads(machine_state_, first_allowed(), journal_);
  follow(threads, first_);
  ASSERT_TRUE(machine::bind_thread(child_.number(), rest_));
  look(threads);
  EXPECT_FALSE(threads.counts().left_alone.empty());
  EXPECT_EQ(mask(), rest_);
}

// The scheduler has left the CPU already, but it is still online and in the cpuset.
TEST_P(ConfinedThreads, AreNotTakenToHaveChosenWhileACpuIsGoingOffline) {
  ThreadRegister threads(machine_state_, policy_of({}), journal_);
  threads.ask_whole_mask([this](pid_t) { return all_; });
  follow(threads, all_);
  ASSERT_TRUE(machine::bind_thread(child_.number(), rest_));
  look(threads);
  EXPECT_TRUE(threads.counts().left_alone.empty());
  EXPECT_EQ(threads.allowed(), all_);
  becomes_open(rest_, machine::every_cpu());
  look(threads);
  EXPECT_TRUE(threads.counts().left_alone.empty());
  EXPECT_EQ(threads.allowed(), rest_);
}

TEST_P(ConfinedThreads, ThatAreFoundWhileACpuIsGoingOfflineHaveNoMaskOfTheirOwn) {
  ASSERT_TRUE(machine::bind_thread(child_.number(), rest_));
  ThreadRegister threads(machine_state_, first_allowed(), journal_);
  threads.ask_whole_mask([this](pid_t) { return all_; });
  threads.ask_open([this](pid_t) { return open_; }, GetParam());
  ASSERT_TRUE(threads.process_began(child_.number()));
  const auto inherited = threads.inherited_from(child_.number());
  ASSERT_TRUE(inherited);
  EXPECT_TRUE(inherited->original.any_cpu);
}

// As if the cpuset had shrunk and grown again between two looks.
TEST_P(ConfinedThreads, ThatLoseTheirMasksTogetherArePlacedAnewIfTheKernelForgetsMasks) {
  const WaitingThreads waiting(2);
  ThreadRegister threads(machine_state_, first_allowed(), journal_);
  threads.ask_open([this](pid_t) { return open_; }, GetParam());
  ASSERT_TRUE(threads.process_began(getpid()));
  for (const pid_t thread : waiting.numbers())
    threads.thread_began(thread, getpid());
  const auto all_have = [&](const CpuSet& mask) {
    return std::ranges::all_of(threads.threads(),
                               [&](pid_t thread) { return machine::thread_affinity(thread) == mask; });
  };
  ASSERT_TRUE(eventually([&] {
    std::ignore = threads.observe();
    return all_have(first_);
  }));
  for (const pid_t thread : threads.threads())
    ASSERT_TRUE(machine::bind_thread(thread, all_));
  look(threads);
  const bool forgets = GetParam() == KernelMasks::forgets;
  EXPECT_EQ(threads.counts().left_alone.empty(), forgets);
  EXPECT_TRUE(all_have(forgets ? first_ : all_));
  threads.restore();
  EXPECT_TRUE(all_have(all_));
}

TEST_P(ConfinedThreads, HandDownWhatTheyHad) {
  ThreadRegister threads(machine_state_, first_allowed(), journal_);
  follow(threads, first_);
  becomes_open(rest_, first_);
  const auto inherited = threads.inherited_from(child_.number());
  ASSERT_TRUE(inherited);
  EXPECT_FALSE(inherited->left_alone);
  EXPECT_TRUE(inherited->original.any_cpu);
}

TEST_P(ConfinedThreads, ThatHadAMaskOfTheirOwnAreGivenThatBack) {
  ASSERT_TRUE(machine::bind_thread(child_.number(), rest_));
  ThreadRegister threads({.topology = nullptr, .allowed = rest_}, first_allowed(), journal_);
  follow(threads, rest_.first(1));
  EXPECT_EQ(threads.restore().failed, 0);
  EXPECT_EQ(mask(), rest_);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ConfinedThreads,
                         testing::Values(KernelMasks::forgets, KernelMasks::remembers),
                         [](const auto& tested) {
                           return tested.param == KernelMasks::forgets ? "Forgetting" : "Remembering";
                         });
}  // namespace
}  // namespace millrace::placement
