#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/machine/thread/thread_ended.h"
#include "millrace/placement/apply/changes_by_others.h"
#include "millrace/placement/apply/thread_register_testing.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// Threads whose states the test sets, as another program or the kernel would change them.
class ChangedStates : public testing::Test {
 protected:
  ChangedStates() { others_.sources().kernel = KernelMasks::remembers; }
  // Adds a thread that had `all_` and was given `given`.
  FollowedThread& add(pid_t number, const CpuSet& given) {
    const Original original{.mask = all_, .any_cpu = true};
    FollowedThread& thread = tree_.add_thread(
        process_,
        {.state = {.number = number, .original = original, .last = original, .asked = {}, .open = all_},
         .main = number == process_.id.number,
         .name = "thread",
         .new_born = false},
        0);
    thread.state.has_taken(given);
    states_[number] = thread.state.last;
    return thread;
  }

  const CpuSet all_ = {0, 1, 2, 3};
  std::map<pid_t, Original> states_;
  CpuSet open_ = all_;
  CpuSet whole_ = all_;
  std::vector<std::pair<CpuSet, CpuSet>> confined_;
  Journal journal_ = Journal::refusing({ErrorKind::failure, "nothing is to be written"});
  ProcessTree tree_;
  FollowedProcess& process_ =
      tree_.add_process({.id = {.number = 100}, .original = {.mask = all_, .any_cpu = true}, .open = all_});
  ChangesByOthers others_{
      tree_,
      journal_,
      {.open_cpus = [this](pid_t) { return open_; },
       .whole_mask = [this](pid_t) { return whole_; },
       .read = [this](pid_t thread) -> Result<Original> {
         if (!states_.contains(thread)) return machine::thread_ended(thread);
         return states_.at(thread);
       }},
      [this](const CpuSet& then, const CpuSet& now) { confined_.emplace_back(then, now); }};
};

TEST_F(ChangedStates, AreNobodysIfNothingChangedOrTheThreadIsGone) {
  FollowedThread& thread = add(100, {1});
  EXPECT_FALSE(others_.is_managed(process_, thread));
  states_.clear();
  EXPECT_FALSE(others_.is_managed(process_, thread));
}

TEST_F(ChangedStates, AreTheProgramsIfTheKernelHadNoReason) {
  FollowedThread& by_mask = add(100, {1});
  FollowedThread& by_class = add(101, {1});
  FollowedThread& by_slice = add(102, {1});
  whole_ = states_[100].mask = {2};
  states_[101].scheduling_class = machine::SchedulingClass::batch;
  states_[102].slice_ns = 5'000'000;
  for (FollowedThread* thread : {&by_mask, &by_class, &by_slice})
    EXPECT_TRUE(others_.is_managed(process_, *thread)) << thread->state.number;
  others_.find_all();
  EXPECT_EQ(process_.left_alone.size(), 3U);
  EXPECT_TRUE(tree_.to_place().empty());
  EXPECT_EQ(others_.left_alone(), std::set<std::string>{"thread"});
}

TEST_F(ChangedStates, AreTheKernelsIfOtherCpusAreOpen) {
  FollowedThread& thread = add(100, {1});
  open_ = whole_ = states_[100].mask = {2, 3};
  EXPECT_FALSE(others_.is_managed(process_, thread));
  EXPECT_EQ(thread.state.last.mask, open_);
  EXPECT_EQ(thread.state.original.mask, open_) << "it had no mask of its own";
  EXPECT_TRUE(thread.new_born && tree_.plan_awaited()) << "it is placed on what is open now";
  EXPECT_EQ(confined_, (std::vector<std::pair<CpuSet, CpuSet>>{{all_, open_}}));
}

TEST_F(ChangedStates, AreJudgedLaterWhileACpuIsGoingOffline) {
  FollowedThread& thread = add(100, all_);
  states_[100].mask = {1, 2, 3};  // CPU 0 is still online, and still in the thread's whole mask
  EXPECT_FALSE(others_.is_managed(process_, thread));
  EXPECT_TRUE(tree_.plan_awaited());
  whole_ = {1, 2, 3};  // it was no CPU going offline, but the program
  EXPECT_TRUE(others_.is_managed(process_, thread));
}

TEST_F(ChangedStates, OfSeveralThreadsAtOnceAreTheKernelsIfItForgetsMasks) {
  for (const KernelMasks kernel : {KernelMasks::remembers, KernelMasks::forgets}) {
    others_.sources().kernel = kernel;
    FollowedThread& first = add(100, {1});
    FollowedThread& second = add(101, {2});
    states_[100].mask = states_[101].mask = all_;
    EXPECT_EQ(others_.is_managed(process_, first), kernel == KernelMasks::remembers);
    EXPECT_EQ(second.state.last.mask == all_, kernel == KernelMasks::forgets);
    tree_.execute(process_, 100, 0);
    process_.threads.clear();
  }
}

TEST_F(ChangedStates, AtBirthIncludeCpusThatAreJustGoingOffline) {
  Original now{.mask = {1, 2, 3}};
  states_[200] = now;
  EXPECT_EQ(others_.open_at_birth(200, false, now), all_);
  EXPECT_EQ(now.mask, all_);
  Original elsewhere{.mask = {1, 7}};
  states_[200] = elsewhere;
  EXPECT_EQ(others_.open_at_birth(200, false, elsewhere), CpuSet()) << "the open CPUs cannot be right";
}

class ChangedThreads : public FollowedThreads {};

TEST_F(ChangedThreads, AProcessKeepsWhatOthersWereGivenWhereTheProgramHasChosenItToo) {
  if (machine_state_.allowed.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const machine::CpuSet place = machine_state_.allowed.first(1);
  for (const bool chosen : {false, true}) {
    ThreadRegister threads(machine_state_, others_on(place), journal_);
    const ForkedProcess program_process;
    ASSERT_TRUE(threads.process_began(program_process.number()));
    const ForkedProcess thread_process;
    threads.thread_began(thread_process.number(), program_process.number());
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

TEST_F(ChangedThreads, AThreadThatPutsBackItsMaskToStartAProgramIsGivenItAgainAfterwards) {
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

TEST_F(ChangedThreads, AProcessThatPutsBackWhatItsMakerHadBeforeIsNotTakenToHaveChosenThat) {
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
  puts_back = made.number();  // by its mask library, after it was observed
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

TEST_F(ChangedThreads, StartersThatEndedAreForgottenWhateverTheyWereAboutToDo) {
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

}  // namespace
}  // namespace millrace::placement
