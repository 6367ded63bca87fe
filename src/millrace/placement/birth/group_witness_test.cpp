#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/placement/birth/forwarded_signals.h"
#include "millrace/placement/birth/group_witness.h"
#include "millrace/placement/task/task_files.h"

#include <csignal>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// Runs `test` in a process that leads its own group. Returns whether it was true.
bool in_a_group_of_its_own(const std::function<bool()>& test) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    _exit(test() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(GroupWitness, SeesSignalsToTheGroupAndNoOthers) {
  for (const int signal : {SIGINT, SIGTERM, SIGTSTP, SIGALRM, SIGABRT, SIGWINCH, SIGRTMIN, SIGRTMAX})
    EXPECT_TRUE(in_a_group_of_its_own([signal] {
      ForwardedSignals signals;
      auto witness = GroupWitness::start();
      if (!witness) return false;
      const auto seen_by_witness = [&] {
        const std::int64_t taken_ns = now_ns();
        return signals.take() && witness->saw(signal, getpid(), taken_ns);
      };
      kill(getpid(), signal);
      if (seen_by_witness()) return false;
      for (int i = 0; i < 3; ++i) {
        kill(0, signal);
        if (!seen_by_witness()) return false;
      }
      kill(getpid(), signal);
      return !seen_by_witness();
    })) << signal;
}

// Like a witness that has to wait long for a CPU.
TEST(GroupWitness, ThatIsSlowToTellIsWaitedFor) {
  EXPECT_TRUE(in_a_group_of_its_own([] {
    ForwardedSignals signals;
    auto witness = GroupWitness::start();
    if (!witness) return false;
    kill(witness->process(), SIGSTOP);
    kill(0, SIGUSR1);
    const std::int64_t taken_ns = now_ns();
    if (!signals.take()) return false;
    const pid_t later = fork();
    if (later == 0) {
      usleep(100'000);
      kill(witness->process(), SIGCONT);
      _exit(0);
    }
    const bool seen = witness->saw(SIGUSR1, getpid(), taken_ns);
    waitpid(later, nullptr, 0);
    return seen;
  }));
}

// Waits until the witness has reported everything it received.
bool has_told(const GroupWitness& witness) {
  return eventually([&] {
    if (is_pending(witness.process(), SIGUSR1) || is_pending(witness.process(), SIGRTMIN)) return false;
    return read_task_stat(witness.process(), witness.process())->state == 'S';
  });
}

// This process receives them as one signal.
TEST(GroupWitness, SignalsThatCameAsOneAreAnsweredForAsOne) {
  EXPECT_TRUE(in_a_group_of_its_own([] {
    ForwardedSignals signals;
    auto witness = GroupWitness::start();
    if (!witness) return false;
    for (int i = 0; i < 2; ++i) {
      kill(0, SIGUSR1);
      if (!has_told(*witness)) return false;
    }
    std::int64_t taken_ns = now_ns();
    if (!signals.take() || !witness->saw(SIGUSR1, getpid(), taken_ns)) return false;
    kill(getpid(), SIGUSR1);
    taken_ns = now_ns();
    return signals.take() && !witness->saw(SIGUSR1, getpid(), taken_ns);
  }));
}

// Real-time signals queue.
TEST(GroupWitness, EachRealTimeSignalToTheGroupIsSeenHoweverManyWait) {
  EXPECT_TRUE(in_a_group_of_its_own([] {
    constexpr int many = 100;
    ForwardedSignals signals;
    auto witness = GroupWitness::start();
    if (!witness) return false;
    for (int i = 0; i < many; ++i)
      kill(0, SIGRTMIN);
    if (!has_told(*witness)) return false;
    for (int i = 0; i < many; ++i) {
      const std::int64_t taken_ns = now_ns();
      if (!signals.take() || !witness->saw(SIGRTMIN, getpid(), taken_ns)) return false;
    }
    kill(getpid(), SIGRTMIN);
    const std::int64_t taken_ns = now_ns();
    return signals.take() && !witness->saw(SIGRTMIN, getpid(), taken_ns);
  }));
}

std::int64_t sleeps_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(GroupWitness, SignalsThatWaitTogetherAreAnsweredForTogether) {
  EXPECT_TRUE(in_a_group_of_its_own([] {
    constexpr int many = 100;
    ForwardedSignals signals;
    auto witness = GroupWitness::start();
    if (!witness) return false;
    for (int i = 0; i < many; ++i)
      kill(getpid(), SIGRTMIN);
    const std::int64_t taken_ns = now_ns();
    const auto not_seen = [&] { return signals.take() && !witness->saw(SIGRTMIN, getpid(), taken_ns); };
    if (!not_seen()) return false;
    // The first has waited for the witness. The others need not wait: each wait is ten sleeps.
    const std::int64_t sleeps = sleeps_of_this_thread();
    for (int i = 1; i < many; ++i)
      if (!not_seen()) return false;
    return sleeps_of_this_thread() - sleeps < many;
  }));
}

TEST(GroupWitness, LeavesNobodyBehind) {
  EXPECT_TRUE(in_a_group_of_its_own([] {
    const ForwardedSignals blocked;
    pid_t process = 0;
    {
      const auto witness = GroupWitness::start();
      if (!witness) return false;
      process = witness->process();
    }
    return kill(process, 0) != 0;
  }));
}

}  // namespace
}  // namespace millrace::placement
