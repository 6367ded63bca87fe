#include "millrace/placement/birth/forwarded_signals.h"
#include "millrace/placement/birth/group_witness.h"

#include <csignal>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// In a process that leads a group of its own: exit code 0 where `test` is true.
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
  for (const int signal : forwarded_signals)
    EXPECT_TRUE(in_a_group_of_its_own([signal] {
      ForwardedSignals signals;
      auto witness = GroupWitness::start();
      if (!witness) return false;
      const auto seen_by_witness = [&] {
        const bool seen = witness->saw(signal, getpid());
        return signals.take() && seen;
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
