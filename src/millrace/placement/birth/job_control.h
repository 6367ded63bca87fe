// Job control: a shell knows this process, and is to see it stop and go on as it would have seen the program.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/placement/task/task_files.h"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include <sys/types.h>
#include <sys/wait.h>

namespace millrace::placement {

[[nodiscard]] inline bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// Whether a shell has put this process's group in front of its terminal.
[[nodiscard]] inline bool in_foreground() {
  const auto terminal = Descriptor::owned(open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  return terminal.is_open() && tcgetpgrp(terminal.get()) == getpgrp();
}

// Whether a program that is not traced was stopped by a signal in the way of a job: by its terminal, by
// itself as editors and pagers do, or by whoever has stopped this process. Who stops it by SIGSTOP from
// elsewhere, where no shell waits for the terminal, will continue it alone.
[[nodiscard]] inline bool stopped_as_a_job(int signal) { return signal != SIGSTOP || in_foreground(); }

// Stops this process; returns when it goes on.
inline void stop_this_process() { kill(getpid(), SIGSTOP); }

// Whether a child that was waited for as it stopped has gone on and stopped again.
[[nodiscard]] inline bool has_stopped_again(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

// SIGCONT to the process group continues the program as well; sent to this process alone, it is passed on.
// For a program that is not traced.
inline void continue_with_this_process(pid_t program) {
  constexpr int attempts = 50;
  constexpr useconds_t pause_us = 1000;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto stat = read_task_stat(program, program);
    if (!stat || stat->state != 'T' || has_stopped_again(program)) return;
    usleep(pause_us);
  }
  kill(program, SIGCONT);
}

}  // namespace millrace::placement
