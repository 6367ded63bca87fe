#include "millrace/placement/birth/group_witness.h"

#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/placement/birth/forwarded_signals.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/syscall.h>

namespace millrace::placement {

// Runs in the witness, which may be forked from a multithreaded process: it neither allocates nor locks.
void GroupWitness::watch(int telling, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "millrace-group");
  dup2(telling, 0);
  syscall(SYS_close_range, 1U, ~0U, 0U);
  const sigset_t forwarded = forwarded_signals();
  while (true) {
    siginfo_t info;
    const int signal = sigwaitinfo(&forwarded, &info);
    // is_for_program() never asks about signals from the kernel.
    if (signal > 0 && info.si_code > 0) continue;
    const Seen seen{signal, info.si_pid, now_ns()};
    if (signal > 0 && write(0, &seen, sizeof(seen)) < 0 && errno == EPIPE) _exit(0);
  }
}

Result<GroupWitness> GroupWitness::start() {
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK);
  fcntl(pipe->write_end.get(), F_SETFL, O_NONBLOCK);
  GroupWitness witness;
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) return failure("cannot make a process: {}", system_reason(errno));
  if (process == 0) watch(pipe->write_end.get(), parent);
  witness.process_ = ChildProcess::of(process);
  witness.told_ = std::move(pipe->read_end);
  return witness;
}

GroupWitness::~GroupWitness() {
  process_.kill(SIGKILL);
  // A thread that waits for the program's end may have reaped it already.
  process_.wait();
}

void GroupWitness::read_seen() {
  Seen seen;
  while (read(told_.get(), &seen, sizeof(seen)) == sizeof(seen))
    seen_.push_back(seen);
}

// True if the witness has received the signal but not reported it yet. It sleeps only if it has nothing to
// report.
bool GroupWitness::is_behind(int signal) const {
  const auto stat = read_task_stat(process(), process());
  return stat && stat->state != 'Z' && (stat->state != 'S' || is_pending(process(), signal));
}

bool GroupWitness::saw(int signal, pid_t sender, std::int64_t taken_ns) {
  // A signal to a group reaches its processes one after the other, without a pause.
  constexpr std::int64_t sending_ns = 10'000'000;
  // A limit, in case the witness is stopped as well.
  constexpr std::int64_t longest_ns = 1'000'000'000;
  constexpr int pause_ms = 1;
  const bool is_merged = signal < SIGRTMIN;  // all real-time signals arrive
  while (true) {
    const std::int64_t waited_ns = now_ns() - taken_ns;
    const bool has_told = waited_ns >= longest_ns || (waited_ns >= sending_ns && !is_behind(signal));
    read_seen();
    const auto found = std::ranges::find_if(
        seen_, [&](const Seen& one) { return one.signal == signal && one.sender == sender; });
    const bool seen = found != seen_.end();
    if (seen) seen_.erase(found);
    if (seen || has_told) {
      if (is_merged)
        std::erase_if(seen_, [&](const Seen& one) { return one.signal == signal && one.time_ns < taken_ns; });
      return seen;
    }
    pollfd more{.fd = told_.get(), .events = POLLIN, .revents = 0};
    poll(&more, 1, pause_ms);
  }
}

}  // namespace millrace::placement
