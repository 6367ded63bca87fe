#include "millrace/base/process/child_process.h"

#include <csignal>
#include <cstdint>
#include <tuple>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace millrace {
namespace {

template <class Work> ChildProcess start(const Work& work) {
  const pid_t number = fork();
  if (number == 0) {
    work();
    _exit(0);
  }
  return ChildProcess::of(number);
}

void sleep_for_ever() {
  while (true)
    pause();
}

TEST(ChildProcess, TellsHowItEndedAsWaitpidDoes) {
  for (const int code : {0, 1, 255}) {
    ChildProcess child = start([code] { _exit(code); });
    const auto status = child.wait();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status));
    EXPECT_EQ(WEXITSTATUS(*status), code);
    EXPECT_FALSE(child.exists());
  }
  ChildProcess child = start(sleep_for_ever);
  EXPECT_TRUE(child.kill(SIGTERM));
  const auto status = child.wait();
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFSIGNALED(*status));
  EXPECT_EQ(WTERMSIG(*status), SIGTERM);
}

// By then the process ID may belong to another process.
TEST(ChildProcess, NobodyGetsASignalOnceSomebodyElseHasWaitedForIt) {
  for (const bool by_descriptor : {true, false}) {
    ChildProcess child = start([] {});
    const pid_t number = child.number();
    if (!by_descriptor) child = ChildProcess::of(number, {});
    ASSERT_EQ(waitpid(number, nullptr, 0), number);
    EXPECT_FALSE(child.kill(0)) << by_descriptor;
    EXPECT_FALSE(child.kill(SIGKILL)) << by_descriptor;
    EXPECT_FALSE(child.wait()) << by_descriptor;
  }
}

// A process that is not our child simulates a reused process ID.
TEST(ChildProcess, WithoutDescriptorsOnlyAChildIsMeant) {
  const ChildProcess stranger = ChildProcess::of(getppid(), {});
  EXPECT_FALSE(stranger.kill(0));
}

TEST(ChildProcess, SignalsCarryTheirValue) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  sigset_t waited;
  sigemptyset(&waited);
  sigaddset(&waited, SIGUSR1);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &waited, &before);
  ChildProcess child = start([&] {
    siginfo_t info{};
    sigwaitinfo(&waited, &info);
    const auto got = reinterpret_cast<std::uintptr_t>(info.si_value.sival_ptr);
    std::ignore = write(ends[1], &got, sizeof got);
  });
  sigprocmask(SIG_SETMASK, &before, nullptr);
  constexpr std::uintptr_t value = 0x123456789abc;
  EXPECT_TRUE(child.kill(SIGUSR1, reinterpret_cast<void*>(value)));  // NOLINT: any value
  std::uintptr_t got = 0;
  ASSERT_EQ(read(ends[0], &got, sizeof(got)), static_cast<ssize_t>(sizeof(got)));
  EXPECT_EQ(got, value);
  EXPECT_EQ(child.wait(), 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(ChildProcess, NoneIsNobody) {
  ChildProcess none;
  EXPECT_FALSE(none.exists());
  EXPECT_FALSE(none.kill(SIGKILL));
  EXPECT_FALSE(none.wait());
}

}  // namespace
}  // namespace millrace
