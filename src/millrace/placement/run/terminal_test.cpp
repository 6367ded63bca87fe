// Job control: run_program() in the foreground of a terminal, as under a shell.
#include "millrace/placement/run/program_testing.h"

#include <csignal>
#include <pty.h>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

constexpr char control_z = 26;
constexpr char control_c = 3;
constexpr char control_backslash = 28;

// A shell with one job, in a terminal of its own. It writes the job's events to a pipe: 'S' stopped, 'C'
// continued, 'E' and the exit code.
class TerminalJob {
 public:
  enum class Place { foreground, background };
  TerminalJob(BirthWay way, std::vector<std::string> command, const ProgressSettings& progress = {},
              Place place = Place::foreground) {
    int events[2] = {};
    if (pipe(events) != 0) std::abort();
    shell_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (shell_ == 0) be_shell(events[1], way, std::move(command), progress, place);
    close(events[1]);
    events_ = events[0];
  }
  ~TerminalJob() {
    kill(shell_, SIGKILL);
    waitpid(shell_, nullptr, 0);
    close(terminal_);
    close(events_);
  }
  TerminalJob(const TerminalJob&) = delete;
  TerminalJob& operator=(const TerminalJob&) = delete;

  void type(char key) const { ASSERT_EQ(write(terminal_, &key, 1), 1); }
  void widen(unsigned short columns) const {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ASSERT_EQ(ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }
  void resume() const { kill(shell_, SIGUSR1); }
  // The letter of the next event; sets code() for 'E'. 0 if none comes within a minute.
  char next() {
    pollfd ready{.fd = events_, .events = POLLIN, .revents = 0};
    constexpr int patience_ms = 60'000;
    struct {
      char letter;
      unsigned char code;
    } event{};
    if (poll(&ready, 1, patience_ms) <= 0 || read(events_, &event, 2) != 2) return 0;
    code_ = event.code;
    return event.letter;
  }
  [[nodiscard]] int code() const { return code_; }
  // The process that the shell sees as its job.
  [[nodiscard]] pid_t process() const {
    const auto children = list_children(shell_);
    return children.empty() ? -1 : children.front();
  }
  // Waits until the program's output contains `text`.
  bool wait_for(const std::string& text) {
    return eventually([&] {
      pollfd ready{.fd = terminal_, .events = POLLIN, .revents = 0};
      char piece[4096];
      while (poll(&ready, 1, 0) > 0) {
        const ssize_t size = read(terminal_, piece, sizeof(piece));
        if (size <= 0) break;
        output_.append(piece, static_cast<std::size_t>(size));
      }
      return output_.find(text) != std::string::npos;
    });
  }

 private:
  [[noreturn]] static void be_shell(int events, BirthWay way, std::vector<std::string> command,
                                    const ProgressSettings& progress, Place place) {
    std::signal(SIGTTOU, SIG_IGN);
    std::signal(SIGTSTP, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGQUIT, SIG_IGN);
    static pid_t job = 0;
    job = fork();
    if (job == 0) {
      setpgid(0, 0);
      if (place == Place::foreground) tcsetpgrp(0, getpid());
      for (const int signal : {SIGTTOU, SIGTSTP, SIGINT, SIGQUIT})
        std::signal(signal, SIG_DFL);
      RunSettings settings = fixed(MaskPolicy::one_to_one, way, std::move(command));
      settings.progress = progress;
      sigprocmask(SIG_SETMASK, nullptr, &settings.blocked_signals);
      const auto summary = run_program(settings);
      _exit(summary ? shell_code(summary->status) : 99);
    }
    // Like `fg`.
    std::signal(SIGUSR1, [](int) {
      tcsetpgrp(0, job);
      kill(-job, SIGCONT);
    });
    while (true) {
      int status = 0;
      if (waitpid(job, &status, WUNTRACED | WCONTINUED) < 0) continue;
      unsigned char event[2] = {'E', static_cast<unsigned char>(shell_code(status))};
      if (WIFSTOPPED(status)) {
        event[0] = 'S';
        event[1] = static_cast<unsigned char>(WSTOPSIG(status));
      }
      if (WIFCONTINUED(status)) event[0] = 'C';
      if (write(events, event, 2) != 2 || event[0] == 'E') _exit(0);
    }
  }

  pid_t shell_ = -1;
  int terminal_ = -1;
  int events_ = -1;
  int code_ = -1;
  std::string output_;
};

char state_of_program(const std::string& name) {
  // The youngest process of that name is the program.
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t number = std::atoi(entry.path().filename().c_str());
    const auto stat = number > 0 ? read_task_stat(number, number) : std::nullopt;
    if (stat && stat->name == name) return stat->state;
  }
  return '?';
}

class JobControl : public testing::TestWithParam<BirthWay> {};

TEST_P(JobControl, StopsWithTheTerminalAndGoesOnWithTheShell) {
  const TemporaryFile copy;  // a unique name, to find the process by
  std::filesystem::copy_file(testing_program("dynamic", "signals"), copy.path(),
                             std::filesystem::copy_options::overwrite_existing);
  chmod(copy.path().c_str(), 0755);
  const std::string name = std::filesystem::path(copy.path()).filename().string().substr(0, 15);
  TerminalJob job(GetParam(), {copy.path(), "catch"});
  ASSERT_TRUE(job.wait_for("ready"));
  for (int i = 0; i < 2; ++i) {
    job.type(control_z);
    ASSERT_EQ(job.next(), 'S');
    EXPECT_EQ(job.code(), SIGTSTP);  // a shell reports 148
    EXPECT_TRUE(eventually([&] { return state_of_program(name) == 'T' || state_of_program(name) == 't'; }));
    job.resume();
    ASSERT_EQ(job.next(), 'C');
    EXPECT_TRUE(eventually([&] { return state_of_program(name) == 'S' || state_of_program(name) == 'R'; }));
  }
  job.type(control_c);
  ASSERT_EQ(job.next(), 'E');
  EXPECT_EQ(job.code(), 128 + SIGINT);
}

// The terminal stops the whole group at once: this process and the program. If it is continued as soon as the
// shell sees the stop, it must not stop again because the program stopped.
TEST_P(JobControl, ReadingInTheBackgroundStopsItOnce) {
  constexpr int sessions = 10;
  for (int session = 0; session < sessions; ++session) {
    TerminalJob job(GetParam(), {"cat"}, {}, TerminalJob::Place::background);
    ASSERT_EQ(job.next(), 'S') << session;
    EXPECT_EQ(job.code(), SIGTTIN) << session;
    job.resume();
    ASSERT_EQ(job.next(), 'C') << session;
    for (const char key : {'x', '\r', '\x04'})
      job.type(key);
    ASSERT_EQ(job.next(), 'E') << session;
    EXPECT_EQ(job.code(), 0) << session;
  }
}

TEST_P(JobControl, QuitsWithTheTerminal) {
  TerminalJob job(GetParam(), {testing_program("dynamic", "signals"), "catch"});
  ASSERT_TRUE(job.wait_for("ready"));
  job.type(control_backslash);
  ASSERT_EQ(job.next(), 'E');
  EXPECT_EQ(job.code(), 128 + SIGQUIT);
}

TEST_P(JobControl, ProgramsThatSuspendThemselvesGiveTheTerminalBack) {
  for (const char* how : {"group", "self", "stop"}) {
    TerminalJob job(GetParam(), {testing_program("dynamic", "signals"), "suspend", how});
    ASSERT_EQ(job.next(), 'S') << how;
    job.resume();
    ASSERT_EQ(job.next(), 'C') << how;
    ASSERT_EQ(job.next(), 'E') << how;
    EXPECT_EQ(job.code(), 6) << how;
  }
}

// The shell knows only the group of this process.
TEST_P(JobControl, ProgramsWithAGroupOfTheirOwnGiveTheTerminalBackAndGetItAgain) {
  for (const char* how : {"stop", "self"}) {
    TerminalJob job(GetParam(), {testing_program("dynamic", "signals"), "own_group", how});
    ASSERT_EQ(job.next(), 'S') << how;
    EXPECT_EQ(job.code(), std::string(how) == "stop" ? SIGSTOP : SIGTSTP);
    job.resume();
    ASSERT_EQ(job.next(), 'C') << how;
    ASSERT_EQ(job.next(), 'E') << how;
    EXPECT_EQ(job.code(), 6) << how;
  }
}

TEST_P(JobControl, StoppedAndContinuedAloneItTakesTheProgramAlong) {
  TerminalJob job(GetParam(), {testing_program("dynamic", "signals"), "catch"});
  ASSERT_TRUE(job.wait_for("ready"));
  const pid_t millrace = job.process();
  kill(millrace, SIGTSTP);
  ASSERT_EQ(job.next(), 'S');
  kill(millrace, SIGCONT);
  ASSERT_EQ(job.next(), 'C');
  kill(millrace, SIGTERM);
  ASSERT_EQ(job.next(), 'E');
  EXPECT_EQ(job.code(), 5);
}

TEST_P(JobControl, AStreamThatIsReadAlongIsAsWideAsTheTerminal) {
  TerminalJob job(GetParam(), {testing_program("dynamic", "signals"), "size", "123"},
                  {ReportStream::error, 0, "x"});
  ASSERT_TRUE(job.wait_for("ready"));
  job.widen(123);
  ASSERT_EQ(job.next(), 'E');
  EXPECT_EQ(job.code(), 0);
}

TEST_P(JobControl, AnInteractiveShellControlsItsJobsAlthoughItsProgressIsAskedFor) {
  TerminalJob job(GetParam(), {"bash", "--norc", "--noprofile", "-i"}, {ReportStream::error, 0, "x"});
  for (const char key : std::string("case $- in *m*) exit 5;; esac; exit 6\r"))
    job.type(key);
  ASSERT_EQ(job.next(), 'E');
  EXPECT_EQ(job.code(), 5);
}

// The real terminal has what a person types.
TEST_P(JobControl, ReadingFromAStreamThatIsReadAlongFailsAtOnce) {
  TerminalJob job(GetParam(), {"bash", "-c", "test -t 2 || exit 7; read -u 2 x || exit 5; exit 6"},
                  {ReportStream::error, 0, "x"});
  ASSERT_EQ(job.next(), 'E');
  EXPECT_EQ(job.code(), 5);
}

INSTANTIATE_TEST_SUITE_P(Ways, JobControl, testing::Values(BirthWay::ptrace, BirthWay::polling),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace millrace::placement
