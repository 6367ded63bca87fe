#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/thread_placer.h"
#include "millrace/placement/apply/thread_register_testing.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

// Records the views that it gets, and gives every thread CPU 0.
Policy recording(std::vector<ThreadView>& seen, Policy::Traits traits = {}) {
  return {[&seen](const MachineState&, std::span<const ThreadView> views) {
            seen.assign(views.begin(), views.end());
            return std::vector<ThreadPlan>(views.size(), {.mask = {0}});
          },
          traits};
}

// A process with main and a thread, of which nothing was born for a minute.
class PlansForThreads : public testing::Test {
 protected:
  PlansForThreads() {
    tree_.add_thread(process_, {.state = {.number = 100}, .main = true, .name = "main"}, 0);
    tree_.add_thread(process_, {.state = {.number = 101}, .name = "worker"}, 0);
  }
  static constexpr std::int64_t now_ = 60'000'000'000;
  ProcessTree tree_;
  FollowedProcess& process_ = tree_.add_process({.id = {.number = 100}});
  MachineState machine_state_{.allowed = {0, 1}};
};

TEST_F(PlansForThreads, ShowThePolicyEveryThreadInOrderOfBirth) {
  std::vector<ThreadView> seen;
  const auto plans = plans_for(tree_.to_place(), recording(seen), machine_state_, now_);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(plans.size(), 2U);
  EXPECT_EQ(seen[0].name, "main");
  EXPECT_TRUE(seen[0].main);
  EXPECT_EQ(seen[1].name, "worker");
  EXPECT_EQ(seen[1].number, 1);
}

TEST_F(PlansForThreads, LeaveMainItsMaskUntilItsProcessHasSettled) {
  std::vector<ThreadView> seen;
  const auto main_mask = [&](std::int64_t now) {
    return plans_for(tree_.to_place(), recording(seen), machine_state_, now).front().mask;
  };
  EXPECT_EQ(main_mask(settling_ns - 1), machine::CpuSet());
  EXPECT_EQ(main_mask(settling_ns), machine::CpuSet({0}));
}

TEST_F(PlansForThreads, CountAThreadThatIsAboutToBeBornAsOneOfItsProcess) {
  std::vector<ThreadView> seen;
  const Policy policy = recording(seen, {.main_at_first_birth = true});
  tree_.remove(101);
  EXPECT_EQ(plans_for(tree_.to_place(), policy, machine_state_, now_).front().mask, machine::CpuSet())
      << "main is alone";
  const ThreadView expected{.number = tree_.births(), .process = process_.order};
  const auto plans = plans_for(tree_.to_place(), policy, machine_state_, now_, expected);
  EXPECT_EQ(plans.front().mask, machine::CpuSet({0}));
  EXPECT_EQ(seen.back().number, 2);
}

TEST(CrowdSize, GrowsWithTheAllowedCpusBeyondALeastSize) {
  EXPECT_EQ(crowd_size({.allowed = {0}}), 64U);
  EXPECT_EQ(crowd_size({.allowed = machine::CpuSet::range(0, 99)}), 400U);
}

class PlacedThreads : public FollowedThreads {};

// How many thread views a policy received in total during this many births.
std::size_t views_shown(MachineState machine_state, Journal& journal, int births, bool each_by_itself) {
  std::size_t shown = 0;
  Policy policy = {[&shown](const MachineState&, std::span<const ThreadView> threads) {
                     shown += threads.size();
                     return std::vector<ThreadPlan>(threads.size());
                   },
                   {.each_by_itself = each_by_itself}};
  ThreadRegister threads(std::move(machine_state), std::move(policy), journal);
  EXPECT_TRUE(threads.process_began(getpid()));
  const WaitingThreads waiting(births);
  for (const pid_t thread : waiting.numbers())
    threads.thread_began(thread, getpid());
  EXPECT_EQ(threads.alive(), births + 1);
  return shown;
}

TEST_F(PlacedThreads, ABirthCostsTheSameHoweverManyThreadsThereAre) {
  for (const bool each_by_itself : {true, false}) {
    const std::size_t few = views_shown(machine_state_, journal_, 200, each_by_itself);
    const std::size_t many = views_shown(machine_state_, journal_, 600, each_by_itself);
    EXPECT_LE(many - few, 400U) << each_by_itself;
  }
}

TEST_F(PlacedThreads, NewcomersToACrowdArePlannedWithTheNextLook) {
  std::size_t most = 0;
  ThreadRegister threads(
      machine_state_,
      [&most](const MachineState&, std::span<const ThreadView> views) {
        most = std::max(most, views.size());
        return std::vector<ThreadPlan>(views.size());
      },
      journal_);
  ASSERT_TRUE(threads.process_began(getpid()));
  const WaitingThreads waiting(300);
  for (const pid_t thread : waiting.numbers())
    threads.thread_began(thread, getpid());
  EXPECT_LT(most, 301U);
  std::ignore = threads.observe();
  EXPECT_EQ(most, 301U);
}

TEST_F(PlacedThreads, PoliciesSeeTheLoadOfTheMomentAtEachBirth) {
  std::size_t seen = 0;
  ThreadRegister threads(
      machine_state_,
      [&seen](const MachineState& machine_state, std::span<const ThreadView> views) {
        seen = machine_state.load.size();
        return std::vector<ThreadPlan>(views.size());
      },
      journal_);
  threads.watch_load();
  ASSERT_TRUE(threads.process_began(getpid()));
  EXPECT_EQ(seen, 0U) << "too early to tell";
  const WaitingThreads waiting(1);
  const pid_t thread = waiting.numbers().front();
  EXPECT_TRUE(eventually([&] {
    threads.thread_began(thread, getpid());
    threads.thread_ended(thread);
    return seen > 0;
  }));
}

// As with `make -j`.
TEST_F(PlacedThreads, ProcessesOfOneThreadGetTheListsThatTheUserNamed) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet one = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, cpu_list_policy({one}), journal_);
  const ForkedProcess job_process;
  const pid_t job = job_process.number();
  ASSERT_TRUE(threads.process_began(job));
  EXPECT_EQ(machine::thread_affinity(job), machine_state_.allowed)
      << "it may ask for the number of CPUs first";
  EXPECT_TRUE(eventually([&] {
    std::ignore = threads.observe();
    return machine::thread_affinity(job) == one;
  }));
  threads.restore();
  EXPECT_EQ(machine::thread_affinity(job), machine_state_.allowed);
}

}  // namespace
}  // namespace millrace::placement
