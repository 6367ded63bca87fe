#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/testing/eventually_testing.h"

#include <chrono>
#include <csignal>
#include <functional>
#include <semaphore>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace millrace {
namespace {

constexpr char ready = 'r';
constexpr char asked = 'a';

// A child process that runs an Interrupt, so that the test's own signals do not interfere.
class Child {
 public:
  // `work` gets the descriptor for messages to this process.
  explicit Child(const std::function<void(int)>& work) : told_(*make_pipe()) {
    process_ = fork();
    if (process_ != 0) return;
    alarm(60);
    work(told_.write_end.get());
    _exit(0);
  }
  ~Child() {
    if (process_ > 0) static_cast<void>(end());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next byte from the child; 0 if the child ended without one.
  [[nodiscard]] char heard() {
    told_.write_end.close();
    char word = 0;
    return read(told_.read_end.get(), &word, 1) == 1 ? word : '\0';
  }
  void send(int signal) const { kill(process_, signal); }
  [[nodiscard]] bool has_ended() const {
    siginfo_t told{};
    return waitid(P_PID, static_cast<id_t>(process_), &told, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           told.si_pid == process_;
  }
  // Waits for the child and returns its status from waitpid().
  [[nodiscard]] int end() {
    int status = -1;
    waitpid(process_, &status, 0);
    process_ = 0;
    return status;
  }

 private:
  Pipe told_;
  pid_t process_ = 0;
};

void tell(int descriptor, char word) {
  if (write(descriptor, &word, 1) != 1) _exit(99);
}

void wait_for_ever() {
  for (;;)
    pause();
}

class Interrupts : public testing::TestWithParam<int> {};

TEST_P(Interrupts, AskForAStopFirstAndEndTheProcessThen) {
  Child child([](int descriptor) {
    const Interrupt interrupt;
    const std::stop_callback on_stop(interrupt.token(), [&] { tell(descriptor, asked); });
    tell(descriptor, ready);
    wait_for_ever();
  });
  ASSERT_EQ(child.heard(), ready);
  child.send(GetParam());
  EXPECT_EQ(child.heard(), asked);
  // Soon a further one is another request.
  EXPECT_TRUE(eventually([&] {
    child.send(GetParam());
    return child.has_ended();
  }));
  const int status = child.end();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), GetParam());
}

bool is_pending_here(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

// timeout(1) signals its child and then immediately the child's whole group. The second signal arrives during
// the stop.
TEST_P(Interrupts, ThatComeTogetherAreOneRequest) {
  for (int i = 0; i < 30; ++i) {
    Child child([](int descriptor) {
      std::binary_semaphore stopped(0);
      {
        const Interrupt interrupt;
        const std::stop_callback on_stop(interrupt.token(), [&] { stopped.release(); });
        tell(descriptor, ready);
        stopped.acquire();
        tell(descriptor, asked);
        while (!is_pending_here(GetParam()))
          std::this_thread::yield();
      }
      _exit(7);
    });
    ASSERT_EQ(child.heard(), ready);
    const auto first = std::chrono::steady_clock::now();
    child.send(GetParam());
    ASSERT_EQ(child.heard(), asked);
    child.send(GetParam());
    // On a busy machine the second may come so late that it is another request.
    const bool are_one = std::chrono::steady_clock::now() - first < Interrupt::one_request;
    const int status = child.end();
    if (!are_one) continue;
    ASSERT_TRUE(WIFEXITED(status)) << i;
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
}

TEST_P(Interrupts, ThatWereIgnoredStayIgnored) {
  Child child([](int descriptor) {
    std::signal(GetParam(), SIG_IGN);
    const Interrupt interrupt;
    tell(descriptor, ready);
    // Blocked signals would reach the Interrupt even if they are ignored.
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    tell(descriptor, sigismember(&blocked, GetParam()) == 1 ? 'b' : 'f');
  });
  ASSERT_EQ(child.heard(), ready);
  EXPECT_EQ(child.heard(), 'f');
}

TEST_P(Interrupts, ActAsUsualAfterwards) {
  Child child([](int descriptor) {
    {
      const Interrupt interrupt;
    }
    tell(descriptor, ready);
    wait_for_ever();
  });
  ASSERT_EQ(child.heard(), ready);
  child.send(GetParam());
  const int status = child.end();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), GetParam());
}

TEST_P(Interrupts, AreToldByTheExitCode) {
  Child child([](int descriptor) {
    const Interrupt interrupt;
    std::binary_semaphore stopped(0);
    const std::stop_callback on_stop(interrupt.token(), [&] { stopped.release(); });
    tell(descriptor, ready);
    stopped.acquire();
    const Status outcome = interrupt.told(Status(std::unexpected(Error{ErrorKind::interrupted, "stopped"})));
    const Status other = interrupt.told(Status(failure("failed")));
    _exit(exit_code(other.error()) == 1 ? exit_code(outcome.error()) : 98);
  });
  ASSERT_EQ(child.heard(), ready);
  child.send(GetParam());
  const int status = child.end();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + GetParam());
}

// With no free descriptor, or only one.
TEST_P(Interrupts, ActAsUsualOrAskForAStopWhereDescriptorsAreScarce) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "the sanitizers look at memory by way of pipes";
#endif
  for (const int left : {0, 1}) {
    Child child([left](int descriptor) {
      rlimit few{};
      getrlimit(RLIMIT_NOFILE, &few);
      few.rlim_cur = static_cast<rlim_t>(descriptor) + static_cast<rlim_t>(1 + left);
      setrlimit(RLIMIT_NOFILE, &few);
      {
        const Interrupt ends;  // and does not wait forever
      }
      const Interrupt interrupt;
      std::binary_semaphore stopped(0);
      const std::stop_callback on_stop(interrupt.token(), [&] { stopped.release(); });
      tell(descriptor, ready);
      stopped.acquire();
      tell(descriptor, asked);
    });
    ASSERT_EQ(child.heard(), ready) << left;
    child.send(GetParam());
    const bool asks = child.heard() == asked;
    const int status = child.end();
    EXPECT_TRUE(asks ? WIFEXITED(status) : WIFSIGNALED(status) && WTERMSIG(status) == GetParam()) << left;
  }
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupts, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& test) { return std::string(sigabbrev_np(test.param)); });

TEST(Interrupt, RequestsNothingByItself) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.requested());
  EXPECT_TRUE(interrupt.token().stop_possible());
}

}  // namespace
}  // namespace millrace
