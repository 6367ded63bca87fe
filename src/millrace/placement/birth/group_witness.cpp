#include "millrace/placement/birth/group_witness.h"

#include "millrace/base/clock.h"
#include "millrace/base/pipe.h"
#include "millrace/base/system_reason.h"
#include "millrace/placement/birth/forwarded_signals.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::placement {

// In the witness, which may be the fork of one thread among several: nothing here takes memory or a lock.
void GroupWitness::watch(int telling, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "millrace-group");
  dup2(telling, 0);
  syscall(SYS_close_range, 1U, ~0U, 0U);
  sigset_t forwarded;
  sigemptyset(&forwarded);
  for (const int signal : forwarded_signals)
    sigaddset(&forwarded, signal);
  while (true) {
    siginfo_t info;
    const int signal = sigwaitinfo(&forwarded, &info);
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
  witness.process_ = fork();
  if (witness.process_ < 0) return failure("cannot make a process: {}", system_reason(errno));
  if (witness.process_ == 0) watch(pipe->write_end.get(), parent);
  witness.told_ = std::move(pipe->read_end);
  return witness;
}

GroupWitness::~GroupWitness() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  // Who waits for the program's end may have been told of this one.
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool GroupWitness::saw(int signal, pid_t sender) {
  // What came long before has been answered for, or was one of several that reached this process as one.
  constexpr std::int64_t just_now_ns = 200'000'000;
  const std::int64_t since = now_ns() - just_now_ns;
  while (true) {
    Seen seen;
    while (read(told_.get(), &seen, sizeof(seen)) == sizeof(seen))
      seen_.push_back(seen);
    const auto found = std::ranges::find_if(seen_, [&](const Seen& one) {
      return one.signal == signal && one.sender == sender && one.time_ns >= since;
    });
    if (found != seen_.end()) {
      seen_.erase(seen_.begin(), found + 1);
      return true;
    }
    pollfd more{.fd = told_.get(), .events = POLLIN, .revents = 0};
    if (poll(&more, 1, patience_ms) <= 0 || (more.revents & POLLIN) == 0) return false;
  }
}

}  // namespace millrace::placement
