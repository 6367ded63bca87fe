// What reaches the program's process between its making and its program.
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/placement/apply/thread_register_testing.h"
#include "millrace/placement/birth/follower.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

class FollowerTest : public FollowedThreads, public testing::WithParamInterface<int> {};

TEST_P(FollowerTest, ASignalJustBeforeTheProgramIsExecutedEndsIt) {
  MILLRACE_NOT_FOR_RACES();  // ptrace
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  // The process inherits the mask, so the signal waits until the program's own mask is set.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto program = WaitingProgram::make({.command = {"/bin/true"}, .blocked_signals = none});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(kill(program->process(), GetParam()), 0);

  ThreadRegister threads(machine_state_, policy_of({}), journal_);
  Follower follower(threads);
  const auto launched = follower.launch(*program, true);
  ASSERT_TRUE(launched) << launched.error().message;
  if (!launched->traced) GTEST_SKIP() << "SKIPPED: " << launched->not_traced;
  const auto end = follower.end();
  ASSERT_TRUE(end);
  EXPECT_TRUE(WIFSIGNALED(end->status));
  EXPECT_EQ(WTERMSIG(end->status), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Signals, FollowerTest, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGUSR1));

}  // namespace
}  // namespace millrace::placement
