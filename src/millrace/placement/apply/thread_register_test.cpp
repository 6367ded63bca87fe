#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/machine/thread/without_capability_testing.h"
#include "millrace/placement/apply/thread_register_testing.h"
#include "millrace/placement/task/forked_process_testing.h"
#include "millrace/placement/task/task_files.h"

#include <csignal>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

namespace millrace::placement {
namespace {

class ThreadRegisterTest : public FollowedThreads {};

// A child that is found after its maker has ended, as with polling.
TEST_F(ThreadRegisterTest, WhatWasInheritedFromAMakerThatIsGoneIsKnown) {
  const auto before = read_original(0).value();
  if (before.scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  ThreadRegister threads(machine_state_, policy_of({.scheduling_class = machine::SchedulingClass::batch}),
                         journal_);
  const ForkedProcess maker_process;
  const pid_t maker = maker_process.number();
  ASSERT_TRUE(threads.process_began(maker));
  ASSERT_EQ(read_original(maker)->scheduling_class, machine::SchedulingClass::batch);
  threads.thread_ended(maker);
  // Born with the state that its maker had been given.
  const ForkedProcess child_process([] {
    std::ignore = machine::change_scheduling(0, {.scheduling_class = machine::SchedulingClass::batch});
    pause();
  });
  const pid_t child = child_process.number();
  ASSERT_TRUE(
      eventually([&] { return read_original(child)->scheduling_class == machine::SchedulingClass::batch; }));
  ASSERT_TRUE(threads.process_began(child));
  threads.restore();
  EXPECT_EQ(read_original(child)->scheduling_class, machine::SchedulingClass::other);
}

TEST_F(ThreadRegisterTest, AProcessThatIsFoundWithAMaskThatAThreadWasGivenHasNotChosenIt) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet one = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, others_on(one), journal_);
  ASSERT_TRUE(threads.process_began(getpid()));
  const ForkedProcess thread_process;
  threads.thread_began(thread_process.number(), getpid());
  const ForkedProcess child_process;
  const pid_t child = child_process.number();
  ASSERT_TRUE(machine::bind_thread(child, one));
  ASSERT_TRUE(threads.process_began(child));
  threads.restore();
  EXPECT_EQ(machine::thread_affinity(child), machine_state_.allowed);
  EXPECT_TRUE(threads.counts().left_alone.empty());
}

// A class that a thread may have, and whether this process may set it.
struct OwnClass {
  machine::SchedulingClass scheduling_class;
  bool may_set;
};

void PrintTo(const OwnClass& own, std::ostream* out) { *out << machine::name_of(own.scheduling_class); }

class ClassesOfTheirOwn : public FollowedThreads, public testing::WithParamInterface<OwnClass> {
 protected:
  // The calling thread takes the class. Returns whether that is permitted.
  [[nodiscard]] static bool take_class() {
    if (GetParam().scheduling_class != machine::SchedulingClass::deadline)
      return machine::change_scheduling(0, {.scheduling_class = GetParam().scheduling_class, .priority = 7})
          .has_value();
    constexpr std::uint32_t deadline_class = 6;
    constexpr std::uint64_t period_ns = 100'000'000;
    struct {
      std::uint32_t size = 48;
      std::uint32_t policy = deadline_class;
      std::uint64_t flags = 0;
      std::int32_t nice = 0;
      std::uint32_t priority = 0;
      std::uint64_t runtime = period_ns / 100;
      std::uint64_t deadline = period_ns;
      std::uint64_t period = period_ns;
    } attributes;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
  }
};

TEST_P(ClassesOfTheirOwn, AreTakenOnlyIfTheyCanBeGivenBack) {
  for (const auto given : {machine::SchedulingClass::other, machine::SchedulingClass::batch,
                           machine::SchedulingClass::rr, machine::SchedulingClass::fifo}) {
    SCOPED_TRACE(machine::name_of(given));
    if (given == GetParam().scheduling_class) continue;
    const ForkedProcess program([] {
      if (!take_class()) _exit(1);
      pause();
    });
    const auto takes_its_class = [&] {
      const auto now = read_original(program.number());
      return now && now->scheduling_class == GetParam().scheduling_class;
    };
    const auto is_refused = [&] { return read_task_stat(program.number(), program.number())->state == 'Z'; };
    if (!eventually([&] { return takes_its_class() || is_refused(); }) || !takes_its_class())
      GTEST_SKIP() << "this class is not permitted here";
    const Original before = read_original(program.number()).value();
    std::optional<machine::WithoutCapability> unprivileged;
    if (!GetParam().may_set) {
      unprivileged.emplace(CAP_SYS_NICE);
      const rlimit none{};
      if (!unprivileged->taken() || prlimit(program.number(), RLIMIT_RTPRIO, &none, nullptr) != 0)
        GTEST_SKIP() << "capabilities and limits cannot be taken away here";
    }
    ThreadRegister threads(machine_state_, policy_of({.scheduling_class = given}), journal_);
    ASSERT_TRUE(threads.process_began(program.number()));
    const bool given_back =
        GetParam().may_set && GetParam().scheduling_class != machine::SchedulingClass::deadline;
    if (!given_back) {
      EXPECT_TRUE(same_but_nice(read_original(program.number()).value(), before));
      EXPECT_EQ(threads.counts().refused, 1);
      EXPECT_THAT(threads.counts().first_refusal, testing::HasSubstr("keeps class"));
    } else {
      EXPECT_EQ(read_original(program.number())->scheduling_class, given);
    }
    threads.restore();
    EXPECT_EQ(read_original(program.number()).value(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ClassesOfTheirOwn,
                         testing::Values(OwnClass{machine::SchedulingClass::deadline, true},
                                         OwnClass{machine::SchedulingClass::rr, true},
                                         OwnClass{machine::SchedulingClass::rr, false},
                                         OwnClass{machine::SchedulingClass::fifo, false},
                                         OwnClass{machine::SchedulingClass::idle, true},
                                         OwnClass{machine::SchedulingClass::batch, true}));

// The priority belongs to the class.
TEST_F(ThreadRegisterTest, WhoIsGivenItsOwnClassAgainHasItsPriority) {
  const ForkedProcess program;
  if (!machine::change_scheduling(program.number(),
                                  {.scheduling_class = machine::SchedulingClass::rr, .priority = 7}))
    GTEST_SKIP() << "class rr is not permitted here";
  const Original before = read_original(program.number()).value();
  ThreadRegister threads(machine_state_, policy_of({.scheduling_class = machine::SchedulingClass::batch}),
                         journal_);
  ASSERT_TRUE(threads.process_began(program.number()));
  ASSERT_EQ(read_original(program.number())->scheduling_class, machine::SchedulingClass::batch);
  threads.set_policy(policy_of({.scheduling_class = machine::SchedulingClass::rr}));
  EXPECT_EQ(read_original(program.number()).value(), before);
}

// It was found after it had chosen its mask, with an inherited class.
TEST_F(ThreadRegisterTest, WhoLooksAfterItsMaskIsGivenBackItsClassInTheEnd) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const auto before = read_original(0).value();
  if (before.scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  const machine::CpuSet one = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, policy_of({.scheduling_class = machine::SchedulingClass::batch}),
                         journal_);
  const ForkedProcess maker_process;
  const pid_t maker = maker_process.number();
  ASSERT_TRUE(threads.process_began(maker));
  const ForkedProcess child_process;
  const pid_t child = child_process.number();
  ASSERT_TRUE(machine::change_scheduling(child, {.scheduling_class = machine::SchedulingClass::batch}));
  ASSERT_TRUE(machine::bind_thread(child, one));
  ASSERT_TRUE(threads.process_began(child));
  EXPECT_EQ(threads.counts().left_alone.size(), 1U);
  threads.restore();
  EXPECT_EQ(read_original(child)->mask, one);
  EXPECT_EQ(read_original(child)->scheduling_class, before.scheduling_class);
}

TEST_F(ThreadRegisterTest, WhoIsToldOfAfterTheEndIsGivenBackWhatItInherited) {
  const auto before = read_original(0).value();
  if (before.scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  ThreadRegister threads(machine_state_, policy_of({.scheduling_class = machine::SchedulingClass::batch}),
                         journal_);
  const ForkedProcess maker_process;
  const pid_t maker = maker_process.number();
  ASSERT_TRUE(threads.process_began(maker));
  const int births = threads.births();
  threads.restore();
  const ForkedProcess child_process;
  const pid_t child = child_process.number();
  ASSERT_TRUE(machine::change_scheduling(child, {.scheduling_class = machine::SchedulingClass::batch}));
  ASSERT_TRUE(threads.process_began(child, threads.inherited_from(maker)));
  EXPECT_TRUE(same_but_nice(read_original(child).value(), before));
  EXPECT_EQ(threads.births(), births + 1) << "so that it is known for new";
  EXPECT_EQ(threads.counts().births, births) << "but it is none of the run";
}

// Its number goes before the exec is reported, and with it everything known about it.
TEST_F(ThreadRegisterTest, AnExecutedProgramIsGivenBackWhatAForgottenThreadWasGiven) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet one = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, others_on(one), journal_);
  const ForkedProcess program_process;
  const pid_t program = program_process.number();
  ASSERT_TRUE(threads.process_began(program));
  const ForkedProcess thread_process;
  threads.thread_began(thread_process.number(), program);
  ASSERT_TRUE(machine::bind_thread(program, one));
  threads.process_executed(program, 4194304);
  EXPECT_EQ(machine::thread_affinity(program), machine_state_.allowed);
  EXPECT_TRUE(threads.counts().left_alone.empty());
  EXPECT_EQ(threads.alive(), 1);
}

// Another process stands in for the thread. The register does not find it in its process and treats it as
// gone.
TEST_F(ThreadRegisterTest, AnExecutionThatNobodyTellsOfIsFound) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet one = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, others_on(one), journal_);
  const ForkedProcess program_process;
  const pid_t program = program_process.number();
  const ForkedProcess thread_process;
  const pid_t thread = thread_process.number();
  ASSERT_TRUE(threads.process_began(program));
  threads.thread_began(thread, program);
  ASSERT_EQ(machine::thread_affinity(thread), one);
  // The state if the thread had executed a program.
  ASSERT_TRUE(machine::bind_thread(program, one));
  std::ignore = threads.observe();
  EXPECT_EQ(machine::thread_affinity(program), machine_state_.allowed);
  EXPECT_TRUE(threads.counts().left_alone.empty());
}

// A state that a thread may choose itself, and a policy that gives others the same.
struct EarlierChoice {
  std::string name;
  std::optional<machine::SchedulingChange> attributes;  // nothing: a mask of one CPU
};

void PrintTo(const EarlierChoice& choice, std::ostream* out) { *out << choice.name; }

class EarlierChoices : public FollowedThreads, public testing::WithParamInterface<EarlierChoice> {
 protected:
  void SetUp() override {
    if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
    if (read_original(0)->scheduling_class != machine::SchedulingClass::other)
      GTEST_SKIP() << "needs class other";
    const auto& attributes = GetParam().attributes;
    if (attributes && attributes->slice_ns && machine::default_slice_ns() == 0)
      GTEST_SKIP() << "this kernel has no slice for each thread";
  }
  [[nodiscard]] bool choose(pid_t thread) const {
    const auto& attributes = GetParam().attributes;
    return attributes ? machine::change_scheduling(thread, *attributes).has_value()
                      : machine::bind_thread(thread, one_).has_value();
  }
  [[nodiscard]] Policy same() const {
    const auto& attributes = GetParam().attributes;
    return attributes ? policy_of({.scheduling_class = attributes->scheduling_class,
                                   .slice_ns = attributes->slice_ns})
                      : first_allowed();
  }
  // Start times are known to a clock tick. Returns whether the next one has begun.
  [[nodiscard]] static bool tick() {
    return eventually([begun = ticks_since_boot()] { return ticks_since_boot() > begun; });
  }

  machine::CpuSet one_ = machine_state_.allowed.first(1);
};

TEST_P(EarlierChoices, AThreadOlderThanTheFirstChangeKeepsItsOwnChoiceThoughOthersAreGivenTheSame) {
  const WaitingThreads waiting(2);
  const pid_t placed = waiting.numbers().front();
  const pid_t own = waiting.numbers().back();
  ASSERT_TRUE(choose(own));
  const Original before = read_original(own).value();
  const Original usual = read_original(placed).value();
  ASSERT_TRUE(tick());
  ThreadRegister threads(machine_state_, same(), journal_);
  ASSERT_TRUE(threads.process_began(getpid()));
  threads.thread_began(placed, getpid());
  ASSERT_TRUE(same_but_nice(read_original(placed).value(), before));
  threads.thread_began(own, getpid());
  EXPECT_EQ(threads.counts().left_alone.size(), 1U);
  EXPECT_TRUE(same_but_nice(read_original(own).value(), before)) << "while others are placed";
  threads.restore();
  EXPECT_TRUE(same_but_nice(read_original(own).value(), before)) << "in the end";
  EXPECT_TRUE(same_but_nice(read_original(placed).value(), usual));
}

TEST_P(EarlierChoices, AProcessOlderThanTheFirstChangeKeepsItsOwnChoiceThoughOthersAreGivenTheSame) {
  const WaitingThreads waiting(1);
  const ForkedProcess child_process;
  const pid_t own = child_process.number();
  ASSERT_TRUE(choose(own));
  const Original before = read_original(own).value();
  ASSERT_TRUE(tick());
  ThreadRegister threads(machine_state_, same(), journal_);
  ASSERT_TRUE(threads.process_began(getpid()));
  threads.thread_began(waiting.numbers().front(), getpid());
  ASSERT_TRUE(same_but_nice(read_original(waiting.numbers().front()).value(), before));
  ASSERT_TRUE(threads.process_began(own));
  EXPECT_EQ(threads.counts().left_alone.size(), 1U);
  threads.restore();
  EXPECT_TRUE(same_but_nice(read_original(own).value(), before));
}

INSTANTIATE_TEST_SUITE_P(
    ThreadRegister, EarlierChoices,
    testing::Values(EarlierChoice{"mask", std::nullopt},
                    EarlierChoice{
                        "class",
                        machine::SchedulingChange{.scheduling_class = machine::SchedulingClass::batch}},
                    EarlierChoice{"slice", machine::SchedulingChange{.slice_ns = 5'000'000}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace millrace::placement
