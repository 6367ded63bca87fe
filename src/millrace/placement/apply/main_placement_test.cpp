#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/main_placement.h"
#include "millrace/placement/apply/thread_register_testing.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <set>
#include <string>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

TEST(MainPlacement, KeepsALoneMainInItsPlaceUntilItsFirstThreadWouldHaveBeenSeen) {
  const Policy::Traits at_first_birth{.main_at_first_birth = true};
  FollowedThread main{.main = true, .wanted = {.mask = {1}}, .in_place_ns = 1000};
  FollowedProcess alone{.threads = {{100, main}}};
  FollowedProcess with_another{.threads = {{100, main}, {101, {}}}};
  const auto kept = [&](const FollowedProcess& process, const Policy::Traits& traits, std::int64_t now) {
    return kept_in_place(process, main, {}, traits, now).mask;
  };
  EXPECT_EQ(kept(alone, at_first_birth, 1000 + settling_ns - 1), main.wanted.mask);
  EXPECT_EQ(kept(alone, at_first_birth, 1000 + settling_ns), machine::CpuSet()) << "no thread has come";
  EXPECT_EQ(kept(with_another, at_first_birth, 1000), machine::CpuSet()) << "the policy has seen the thread";
  EXPECT_EQ(kept(alone, {}, 1000), machine::CpuSet()) << "main was not placed early";
  EXPECT_EQ(kept_in_place(alone, main, {.mask = {0}}, at_first_birth, 1000).mask, machine::CpuSet({0}))
      << "the policy places it elsewhere";
}

TEST(MainPlacement, IsDueForALoneMainThatIsNotLeftAlone) {
  const Policy::Traits at_first_birth{.main_at_first_birth = true};
  const FollowedThread main{.state = {.number = 100}, .main = true};
  FollowedProcess process{.threads = {{100, main}}};
  EXPECT_TRUE(makes_its_first(process, main, at_first_birth));
  EXPECT_FALSE(makes_its_first(process, main, {}));
  process.left_alone.insert(100);
  EXPECT_FALSE(makes_its_first(process, main, at_first_birth));
  process.left_alone.clear();
  process.threads.insert({101, {}});
  EXPECT_FALSE(makes_its_first(process, main, at_first_birth));
}

class MainThreads : public FollowedThreads {};

// Applies once there is another thread.
Policy main_at(const machine::CpuSet& place) {
  return with_main_at_first_birth([place](const MachineState&, std::span<const ThreadView> views) {
    std::vector<ThreadPlan> plans(views.size());
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i].main && views.size() > 1) plans[i].mask = place;
    return plans;
  });
}

TEST_F(MainThreads, AMainThreadIsPlacedAsItMakesItsFirstThread) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet last = machine_state_.allowed - machine_state_.allowed.first(1);
  const machine::CpuSet place = last.first(1);
  ThreadRegister threads(machine_state_, main_at(place), journal_);
  std::set<std::string> told;
  threads.on_mask([&](const machine::CpuSet& mask, const machine::CpuSet& original) {
    told.insert(mask.to_string());
    EXPECT_EQ(original, machine_state_.allowed);
  });
  const ForkedProcess program_process;
  const pid_t program = program_process.number();
  ASSERT_TRUE(threads.process_began(program));
  EXPECT_EQ(machine::thread_affinity(program), machine_state_.allowed) << "it is alone";
  threads.makes_a_thread(program);
  EXPECT_EQ(told, std::set{place.to_string()});
  EXPECT_EQ(machine::thread_affinity(program), place);
  EXPECT_TRUE(threads.counts().left_alone.empty());
  threads.restore();
  EXPECT_EQ(machine::thread_affinity(program), machine_state_.allowed);
}

// Observations may come between the pinning of main and the birth.
TEST_F(MainThreads, AMainThreadKeepsItsPlaceUntilItsFirstThreadMayBeSeen) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, main_at(place), journal_);
  const ForkedProcess program_process;
  const pid_t program = program_process.number();
  const std::int64_t before = now_ns();
  ASSERT_TRUE(threads.process_began(program));
  threads.makes_a_thread(program);
  constexpr int looks = 6;
  for (int i = 0; i < looks; ++i)
    std::ignore = threads.observe();
  const auto soon_after = machine::thread_affinity(program);
  if (now_ns() - before < settling_ns) {
    EXPECT_EQ(soon_after, place);
  }
  EXPECT_TRUE(eventually([&] {
    std::ignore = threads.observe();
    return machine::thread_affinity(program) == machine_state_.allowed;
  })) << "no thread has come";
  EXPECT_TRUE(threads.counts().left_alone.empty());
}

TEST_F(MainThreads, AMainThreadIsGivenBackWhatItHadOnceItsFirstThreadHasEnded) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, main_at(place), journal_);
  ASSERT_TRUE(threads.process_began(getpid()));
  threads.makes_a_thread(getpid());
  ASSERT_EQ(machine::thread_affinity(getpid()), place);
  {
    const WaitingThreads first(1);
    threads.thread_began(first.numbers().front(), getpid());
    threads.thread_ended(first.numbers().front());
  }
  for (int i = 0; i < 2; ++i)
    std::ignore = threads.observe();
  EXPECT_EQ(machine::thread_affinity(getpid()), machine_state_.allowed);
  threads.restore();
  ASSERT_TRUE(machine::bind_thread(getpid(), machine_state_.allowed));
}

// It asks how many CPUs there are.
TEST_F(MainThreads, AProgramThatIsExecutedBeginsWithAllCpusThoughMainWasInItsPlace) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, main_at(place), journal_);
  const ForkedProcess program_process;
  const pid_t program = program_process.number();
  ASSERT_TRUE(threads.process_began(program));
  threads.makes_a_thread(program);
  EXPECT_EQ(machine::thread_affinity(program), place);
  threads.process_executed(program, program);
  EXPECT_EQ(machine::thread_affinity(program), machine_state_.allowed);
}

TEST_F(MainThreads, AMainThreadThatLooksAfterItsClassIsNotPlacedAsItMakesItsFirstThread) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  if (read_original(0)->scheduling_class != machine::SchedulingClass::other)
    GTEST_SKIP() << "needs class other";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, main_at(place), journal_);
  const ForkedProcess program_process;
  const pid_t program = program_process.number();
  ASSERT_TRUE(threads.process_began(program));
  ASSERT_TRUE(machine::change_scheduling(program, {.scheduling_class = machine::SchedulingClass::batch}));
  for (int i = 0; i < 20 && threads.counts().left_alone.empty(); ++i)
    std::ignore = threads.observe();
  ASSERT_EQ(threads.counts().left_alone.size(), 1U);
  threads.makes_a_thread(program);
  EXPECT_EQ(machine::thread_affinity(program), machine_state_.allowed);
}

}  // namespace
}  // namespace millrace::placement
