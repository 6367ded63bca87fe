// Job control: a shell knows this process, and is to see it stop and go on as it would have seen the program.
#pragma once

#include <csignal>
#include <functional>

#include <sys/types.h>

namespace millrace::placement {

[[nodiscard]] inline bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// Whether a shell has put this process's group in front of its terminal.
[[nodiscard]] bool in_foreground();

// Whether a program that is not traced was stopped by a signal in the way of a job: by its terminal, by
// itself as editors and pagers do, or by whoever has stopped this process. Who stops it by SIGSTOP from
// elsewhere, where no shell waits for the terminal, will continue it alone.
[[nodiscard]] inline bool stopped_as_a_job(int signal) { return signal != SIGSTOP || in_foreground(); }

// How often this process was continued by SIGCONT while the calling thread has watched for that. To be asked
// by that thread, and right if no other thread has SIGCONT unblocked: then it is told before it goes on.
[[nodiscard]] unsigned continuations();
void watch_continuations();

// Stops this process by the signal by which the program was stopped, which a shell tells its user. Returns
// when it goes on. Nothing happens where whoever has stopped both has continued both meanwhile: `is_stopped`,
// asked once, says whether the program is still.
void stop_this_process(int signal, const std::function<bool()>& is_stopped);

// For a program that is not traced and was stopped: whether it still is, and was not continued and stopped
// again.
[[nodiscard]] bool is_still_stopped(pid_t program);
// SIGCONT to the process group continues the program as well; sent to this process alone, it is passed on.
// For a program that is not traced.
void continue_with_this_process(pid_t program);

}  // namespace millrace::placement
