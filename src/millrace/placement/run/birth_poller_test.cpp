#include "millrace/base/file/system_file.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/run/birth_poller.h"
#include "millrace/placement/task/forked_process_testing.h"
#include "millrace/placement/task/task_files.h"

#include <csignal>
#include <cstdint>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/prctl.h>

namespace millrace::placement {
namespace {

// Number of read system calls of this thread so far.
std::int64_t reads() {
  const auto text = read_system_file("/proc/thread-self/io");
  return text ? parse_field(*text, "syscr").value_or(0) : 0;
}

TEST(BirthPoller, ReadsNothingWhileNobodyRunsAndFindsWhatIsMadeLater) {
  sigset_t order;
  sigemptyset(&order);
  sigaddset(&order, SIGUSR1);
  sigset_t usual;
  sigprocmask(SIG_BLOCK, &order, &usual);  // before the child that receives it exists
  const ForkedProcess program([&order] {
    int signal = 0;
    sigwait(&order, &signal);
    const pid_t maker = getpid();
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (getppid() == maker)
        pause();
      _exit(0);
    }
  });
  sigprocmask(SIG_SETMASK, &usual, nullptr);
  ASSERT_TRUE(program.becomes('S'));
  Journal journal = Journal::refusing({});
  ThreadRegister threads({.allowed = machine::current_thread_affinity().value()}, policy_of(Plan()), journal);
  ASSERT_TRUE(threads.process_began(program.number()));
  BirthPoller poller(threads);
  constexpr int looks_until_it_is_sure = 3;
  for (int look = 0; look < looks_until_it_is_sure; ++look) {
    std::ignore = threads.observe();
    EXPECT_FALSE(poller.poll_if_any_ran());
  }
  std::ignore = threads.observe();
  const std::int64_t before = reads();
  const std::int64_t reading_that = reads() - before;
  EXPECT_FALSE(poller.poll_if_any_ran());
  EXPECT_EQ(reads() - before, 2 * reading_that);

  kill(program.number(), SIGUSR1);
  EXPECT_TRUE(eventually([&] {
    std::ignore = threads.observe();
    return poller.poll_if_any_ran();
  }));
  EXPECT_EQ(threads.births(), 2);
}

}  // namespace
}  // namespace millrace::placement
