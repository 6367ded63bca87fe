#include "millrace/base/testing/eventually_testing.h"
#include "millrace/placement/apply/inherited_settings.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/run/program_testing.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <array>
#include <csignal>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// How births are observed, and whether tracing was handed over before.
class JoinedDaemons : public testing::TestWithParam<std::pair<BirthWay, bool>> {};

// No ancestor of the program reports them: the kernel reparents them to init.
TEST_P(JoinedDaemons, WhoseMakersHaveEndedAreGivenBackWhatTheyInherited) {
  const auto before = read_original(0).value();
  if (before.scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  const auto [way, handed_over] = GetParam();
  std::array<int, 2> told{};
  ASSERT_EQ(pipe(told.data()), 0);
  const ForkedProcess program([&told] {
    sigset_t order;
    sigemptyset(&order);
    sigaddset(&order, SIGUSR1);
    sigprocmask(SIG_BLOCK, &order, nullptr);
    int signal = 0;
    sigwait(&order, &signal);
    if (fork() == 0) {
      setsid();
      if (fork() != 0) _exit(0);
      const pid_t own = getpid();
      std::ignore = write(told[1], &own, sizeof(own));
      while (true)
        pause();
    }
    while (wait(nullptr) > 0) {
    }
  });
  ASSERT_TRUE(program.becomes('S'));
  RunSettings settings = fixed(MaskPolicy::none, way, {});
  settings.attach = program.number();
  settings.scheduling_class = machine::SchedulingClass::batch;
  if (handed_over) settings.hand_over_ns = 1;
  TestProcess run(settings);
  const auto is_batch = [](pid_t process) {
    return read_original(process)->scheduling_class == machine::SchedulingClass::batch;
  };
  ASSERT_TRUE(eventually([&] { return is_batch(program.number()) && tracer_of(program.number()) == 0; }));
  kill(program.number(), SIGUSR1);
  pid_t daemon = 0;
  ASSERT_EQ(read(told[0], &daemon, sizeof(daemon)), static_cast<ssize_t>(sizeof(daemon)));
  // The process that adopts it may see the earlier state for a moment.
  EXPECT_TRUE(eventually([&] { return is_batch(daemon); })) << "so there is something to be given back";
  kill(run.process(), SIGINT);
  std::ignore = run.finish();
  EXPECT_TRUE(same_but_nice(read_original(daemon).value(), before));
  kill(daemon, SIGKILL);
  close(told[0]);
  close(told[1]);
}

INSTANTIATE_TEST_SUITE_P(Ways, JoinedDaemons,
                         testing::Values(std::pair(BirthWay::polling, false),
                                         std::pair(BirthWay::ptrace, true)),
                         [](const auto& test) { return std::string(name_of(test.param.first)); });

}  // namespace
}  // namespace millrace::placement
