#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <algorithm>
#include <csignal>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// Threads of this process that wait until the object is destroyed.
class Waiting {
 public:
  explicit Waiting(int count) : begun_(count) {
    numbers_.resize(static_cast<std::size_t>(count));
    for (pid_t& number : numbers_)
      threads_.emplace_back([this, &number] {
        number = gettid();
        begun_.count_down();
        end_.wait();
      });
    begun_.wait();
  }
  ~Waiting() { end_.count_down(); }
  [[nodiscard]] const std::vector<pid_t>& numbers() const { return numbers_; }

 private:
  std::latch begun_;
  std::latch end_{1};
  std::vector<pid_t> numbers_;
  std::vector<std::jthread> threads_;
};

// Gives each thread the first allowed CPU.
Policy first_allowed() {
  return {[](const MachineState& machine_state, std::span<const ThreadView> threads) {
            return std::vector<ThreadPlan>(threads.size(), {.mask = machine_state.allowed.first(1)});
          },
          {.each_by_itself = true, .explicit_masks = true}};
}

class ThreadRegisterTest : public testing::Test {
 protected:
  TemporaryFolder own_;
  Journal journal_ = std::move(Journal::begin(std::move(StateFolder::open(own_.path()).value())).value());
  MachineState machine_state_{
      .topology = nullptr, .allowed = machine::current_thread_affinity().value(), .load = {}};
};

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
  const Waiting waiting(births);
  for (const pid_t thread : waiting.numbers())
    threads.thread_began(thread, getpid());
  EXPECT_EQ(threads.alive(), births + 1);
  return shown;
}

TEST_F(ThreadRegisterTest, ABirthCostsTheSameHoweverManyThreadsThereAre) {
  for (const bool each_by_itself : {true, false}) {
    const std::size_t few = views_shown(machine_state_, journal_, 200, each_by_itself);
    const std::size_t many = views_shown(machine_state_, journal_, 600, each_by_itself);
    EXPECT_LE(many - few, 400U) << each_by_itself;
  }
}

TEST_F(ThreadRegisterTest, NewcomersToACrowdArePlannedWithTheNextLook) {
  std::size_t most = 0;
  ThreadRegister threads(
      machine_state_,
      [&most](const MachineState&, std::span<const ThreadView> views) {
        most = std::max(most, views.size());
        return std::vector<ThreadPlan>(views.size());
      },
      journal_);
  ASSERT_TRUE(threads.process_began(getpid()));
  const Waiting waiting(300);
  for (const pid_t thread : waiting.numbers())
    threads.thread_began(thread, getpid());
  EXPECT_LT(most, 301U);
  std::ignore = threads.observe();
  EXPECT_EQ(most, 301U);
}

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

// Set by a shim that has not reported it yet.
TEST_F(ThreadRegisterTest, MasksThatWereLaidReadyAreNobodysChoice) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet one = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, policy_of(Plan()), journal_);
  threads.lay_ready({machine::CpuSet(), one});
  ASSERT_TRUE(threads.process_began(getpid()));
  const ForkedProcess child_process;
  const pid_t child = child_process.number();
  ASSERT_TRUE(machine::bind_thread(child, one));
  ASSERT_TRUE(threads.process_began(child));
  threads.restore();
  EXPECT_EQ(machine::thread_affinity(child), machine_state_.allowed);
  EXPECT_TRUE(threads.counts().left_alone.empty());
}

// The shim gave it its mask, which says nothing about its class.
TEST_F(ThreadRegisterTest, AClassThatAThreadChoseBeforeItWasToldOfStays) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  if (read_original(0)->scheduling_class != machine::SchedulingClass::other)
    GTEST_SKIP() << "needs class other";
  const machine::CpuSet one = machine_state_.allowed.first(1);
  for (const auto chosen : {machine::SchedulingClass::batch, machine::SchedulingClass::idle}) {
    ThreadRegister threads(machine_state_, cpu_list_policy({one}), journal_);
    threads.lay_ready({one});
    ASSERT_TRUE(threads.process_began(getpid()));
    const Waiting waiting(1);
    const pid_t thread = waiting.numbers().front();
    ASSERT_TRUE(machine::bind_thread(thread, one));
    ASSERT_TRUE(machine::change_scheduling(thread, {.scheduling_class = chosen}));
    threads.thread_began(thread, getpid(), std::nullopt, one);
    EXPECT_EQ(read_original(thread)->scheduling_class, chosen);
    threads.restore();
    EXPECT_EQ(read_original(thread)->scheduling_class, chosen);
    EXPECT_EQ(read_original(thread)->mask, machine_state_.allowed);
  }
}

// Inherited from its maker, which was given the class.
TEST_F(ThreadRegisterTest, AClassThatAThreadInheritedBeforeItTookItsMaskIsNoChoice) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const auto before = read_original(0).value();
  if (before.scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  const machine::CpuSet one = machine_state_.allowed.first(1);
  ThreadRegister threads(
      machine_state_, with_attributes(cpu_list_policy({one}), machine::SchedulingClass::batch, std::nullopt),
      journal_);
  threads.lay_ready({one});
  ASSERT_TRUE(threads.process_began(getpid()));
  const Waiting waiting(1);
  const pid_t thread = waiting.numbers().front();
  ASSERT_EQ(read_original(thread)->scheduling_class, machine::SchedulingClass::batch);
  ASSERT_TRUE(machine::bind_thread(thread, one));
  threads.thread_began(thread, getpid(), std::nullopt, one);
  EXPECT_TRUE(threads.counts().left_alone.empty());
  threads.restore();
  EXPECT_TRUE(same_but_nice(read_original(thread).value(), before));
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
  ThreadRegister threads(machine_state_, policy_of(Plan()), journal_);
  threads.lay_ready({one});
  const ForkedProcess program_process;
  const pid_t program = program_process.number();
  ASSERT_TRUE(threads.process_began(program));
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
  const Policy others_on_one = [one](const MachineState&, std::span<const ThreadView> views) {
    std::vector<ThreadPlan> plans(views.size());
    for (std::size_t i = 0; i < views.size(); ++i)
      if (!views[i].main) plans[i].mask = one;
    return plans;
  };
  ThreadRegister threads(machine_state_, others_on_one, journal_);
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

// Applies once there is another thread.
Policy main_at(const machine::CpuSet& place) {
  return with_main_at_first_birth([place](const MachineState&, std::span<const ThreadView> views) {
    std::vector<ThreadPlan> plans(views.size());
    for (std::size_t i = 0; i < views.size(); ++i)
      if (views[i].main && views.size() > 1) plans[i].mask = place;
    return plans;
  });
}

// By the shim, before its first thread, without a report.
TEST_F(ThreadRegisterTest, AMainThreadThatTookThePlaceItWasPromisedLooksAfterNothing) {
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
  EXPECT_EQ(threads.lay_main_ready(), place);
  ASSERT_TRUE(machine::bind_thread(program, place));
  threads.makes_a_thread(program);
  EXPECT_EQ(told, std::set{place.to_string()});
  EXPECT_EQ(machine::thread_affinity(program), place);
  EXPECT_EQ(threads.counts().changes, 0) << "it is where it should be";
  EXPECT_TRUE(threads.counts().left_alone.empty());
  threads.restore();
  EXPECT_EQ(machine::thread_affinity(program), machine_state_.allowed);
}

// Makes a process whose main thread is about to make its first thread; main takes its mask itself or is given
// it.
bool begins_its_first(ThreadRegister& threads, pid_t program, const machine::CpuSet& place, bool by_itself) {
  if (!threads.process_began(program)) return false;
  EXPECT_EQ(threads.lay_main_ready(), place);
  if (by_itself) return machine::bind_thread(program, place).has_value();
  threads.makes_a_thread(program);
  return true;
}

// Observations may come between the pinning of main and the birth, whether main took its mask or was given
// it.
TEST_F(ThreadRegisterTest, AMainThreadKeepsItsPlaceUntilItsFirstThreadMayBeSeen) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  for (const bool by_itself : {true, false}) {
    ThreadRegister threads(machine_state_, main_at(place), journal_);
    const ForkedProcess program_process;
    const pid_t program = program_process.number();
    const std::int64_t before = now_ns();
    ASSERT_TRUE(begins_its_first(threads, program, place, by_itself));
    constexpr int looks = 6;
    for (int i = 0; i < looks; ++i)
      std::ignore = threads.observe();
    const auto soon_after = machine::thread_affinity(program);
    if (now_ns() - before < settling_ns) {
      EXPECT_EQ(soon_after, place) << by_itself;
    }
    EXPECT_TRUE(eventually([&] {
      std::ignore = threads.observe();
      return machine::thread_affinity(program) == machine_state_.allowed;
    })) << "no thread has come";
    EXPECT_TRUE(threads.counts().left_alone.empty());
  }
}

TEST_F(ThreadRegisterTest, AMainThreadIsGivenBackWhatItHadOnceItsFirstThreadHasEnded) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, main_at(place), journal_);
  ASSERT_TRUE(threads.process_began(getpid()));
  EXPECT_EQ(threads.lay_main_ready(), place);
  ASSERT_TRUE(machine::bind_thread(getpid(), place));
  {
    const Waiting first(1);
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
TEST_F(ThreadRegisterTest, AProgramThatIsExecutedBeginsWithAllCpusThoughMainWasInItsPlace) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  for (const bool by_itself : {true, false}) {
    ThreadRegister threads(machine_state_, main_at(place), journal_);
    const ForkedProcess program_process;
    const pid_t program = program_process.number();
    ASSERT_TRUE(begins_its_first(threads, program, place, by_itself));
    EXPECT_EQ(machine::thread_affinity(program), place);
    threads.process_executed(program, program);
    EXPECT_EQ(machine::thread_affinity(program), machine_state_.allowed) << by_itself;
  }
}

// The board knows about masks, but only the register knows about classes.
TEST_F(ThreadRegisterTest, NothingIsLaidReadyForAMainThreadThatLooksAfterItsClass) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  if (read_original(0)->scheduling_class != machine::SchedulingClass::other)
    GTEST_SKIP() << "needs class other";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, main_at(place), journal_);
  const ForkedProcess program_process;
  const pid_t program = program_process.number();
  ASSERT_TRUE(threads.process_began(program));
  EXPECT_EQ(threads.lay_main_ready(), place);
  ASSERT_TRUE(machine::change_scheduling(program, {.scheduling_class = machine::SchedulingClass::batch}));
  for (int i = 0; i < 20 && threads.counts().left_alone.empty(); ++i)
    std::ignore = threads.observe();
  ASSERT_EQ(threads.counts().left_alone.size(), 1U);
  EXPECT_EQ(threads.lay_main_ready(), machine::CpuSet());
}

TEST_F(ThreadRegisterTest, AProcessKeepsWhatOthersWereGivenWhereTheProgramHasChosenItToo) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  for (const bool chosen : {false, true}) {
    ThreadRegister threads(machine_state_, policy_of(Plan()), journal_);
    const ForkedProcess program_process;
    ASSERT_TRUE(threads.process_began(program_process.number()));
    threads.lay_ready({place});
    threads.ask_chosen([&](const machine::CpuSet& mask) { return chosen && mask == place; });
    const ForkedProcess child_process;
    const pid_t child = child_process.number();
    ASSERT_TRUE(machine::bind_thread(child, place));
    ASSERT_TRUE(threads.process_began(child));
    EXPECT_EQ(machine::thread_affinity(child), chosen ? place : machine_state_.allowed);
    threads.restore();
    EXPECT_EQ(machine::thread_affinity(child), chosen ? place : machine_state_.allowed);
  }
}

class OneSpawningThread : public SpawningThreads {
 public:
  [[nodiscard]] State state_of(pid_t thread) const override {
    return thread == thread_ ? state_ : State::none;
  }
  [[nodiscard]] bool hold(pid_t thread) override { return state_of(thread) != State::starting; }
  void let_go(pid_t /*thread*/) override {}
  void take_out(pid_t thread) override {
    if (thread == thread_ && state_ == State::done) thread_ = 0;
  }
  void forget(pid_t thread) override {
    if (thread == thread_) thread_ = 0;
  }
  [[nodiscard]] std::vector<pid_t> all() const override { return {thread_}; }
  void enter(pid_t thread, State state) {
    thread_ = thread;
    state_ = state;
  }

 private:
  pid_t thread_ = 0;
  State state_ = State::none;
};

TEST_F(ThreadRegisterTest, AThreadThatPutsBackItsMaskToStartAProgramIsGivenItAgainAfterwards) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  ThreadRegister threads(machine_state_, cpu_list_policy({place}), journal_);
  OneSpawningThread spawning;
  threads.watch_spawning(spawning);
  const ForkedProcess job_process;
  const pid_t job = job_process.number();
  ASSERT_TRUE(threads.process_began(job));
  ASSERT_TRUE(eventually([&] {
    std::ignore = threads.observe();
    return machine::thread_affinity(job) == place;
  }));
  const auto look = [&] {
    constexpr int until_others_are_looked_for = 20;
    for (int i = 0; i < until_others_are_looked_for; ++i)
      std::ignore = threads.observe();
    return machine::thread_affinity(job);
  };
  spawning.enter(job, SpawningThreads::State::starting);
  ASSERT_TRUE(machine::bind_thread(job, machine_state_.allowed));
  EXPECT_EQ(look(), machine_state_.allowed) << "it starts one now";
  spawning.enter(job, SpawningThreads::State::done);
  EXPECT_EQ(look(), place);
  EXPECT_TRUE(spawning.all() == std::vector<pid_t>{0}) << "it has its mask again";
  EXPECT_TRUE(threads.counts().left_alone.empty());
  ASSERT_TRUE(machine::bind_thread(job, machine_state_.allowed));
  EXPECT_EQ(look(), machine_state_.allowed) << "it has chosen that";
  EXPECT_EQ(threads.counts().left_alone.size(), 1U);
}

TEST_F(ThreadRegisterTest, AProcessThatPutsBackWhatItsMakerHadBeforeIsNotTakenToHaveChosenThat) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  pid_t puts_back = 0;
  const Policy policy = {[&](const MachineState&, std::span<const ThreadView> views) {
                           if (const pid_t process = std::exchange(puts_back, 0); process != 0) {
                             EXPECT_TRUE(machine::bind_thread(process, machine_state_.allowed));
                           }
                           return std::vector<ThreadPlan>(views.size(), {.mask = place});
                         },
                         {.explicit_masks = true}};
  ThreadRegister threads(machine_state_, policy, journal_);
  OneSpawningThread spawning;
  threads.watch_spawning(spawning);
  const ForkedProcess maker;
  ASSERT_TRUE(threads.process_began(maker.number()));
  const auto comes_to_have = [&](pid_t process, const machine::CpuSet& mask) {
    return eventually([&] {
      std::ignore = threads.observe();
      return machine::thread_affinity(process) == mask;
    });
  };
  ASSERT_TRUE(comes_to_have(maker.number(), place));
  const ForkedProcess made;
  ASSERT_TRUE(machine::bind_thread(made.number(), place)) << "as one that its maker has forked";
  puts_back = made.number();  // by its shim, after it was observed
  ASSERT_TRUE(threads.process_began(made.number()));
  EXPECT_TRUE(comes_to_have(made.number(), place));
  EXPECT_TRUE(threads.counts().left_alone.empty());
  ASSERT_TRUE(machine::bind_thread(made.number(), machine_state_.allowed)) << "it chooses that";
  EXPECT_TRUE(eventually([&] {
    std::ignore = threads.observe();
    return threads.counts().left_alone.size() == 1;
  }));
  EXPECT_EQ(machine::thread_affinity(made.number()), machine_state_.allowed);
}

TEST_F(ThreadRegisterTest, StartersThatEndedAreForgottenWhateverTheyWereAboutToDo) {
  for (const auto state : {SpawningThreads::State::done, SpawningThreads::State::starting}) {
    ThreadRegister threads(machine_state_, policy_of({}), journal_);
    OneSpawningThread spawning;
    threads.watch_spawning(spawning);
    pid_t number = 0;
    {
      const ForkedProcess unknown;
      number = unknown.number();
      spawning.enter(number, state);
      threads.restore();
      EXPECT_EQ(spawning.all(), std::vector{number}) << "it is there, only not known";
    }
    ThreadRegister others(machine_state_, policy_of({}), journal_);
    others.watch_spawning(spawning);
    others.restore();
    EXPECT_EQ(spawning.all(), std::vector<pid_t>{0});
  }
}

// A group for which the test sets the open CPUs, with either kind of kernel. Threads get the masks that such
// a kernel would give them.
class ConfinedThreads : public ThreadRegisterTest, public testing::WithParamInterface<KernelMasks> {
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
  const Waiting waiting(2);
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

TEST_F(ThreadRegisterTest, PoliciesSeeTheLoadOfTheMomentAtEachBirth) {
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
  usleep(50'000);
  const Waiting waiting(1);
  threads.thread_began(waiting.numbers().front(), getpid());
  EXPECT_GT(seen, 0U);
}

// As with `make -j`.
TEST_F(ThreadRegisterTest, ProcessesOfOneThreadGetTheListsThatTheUserNamed) {
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
