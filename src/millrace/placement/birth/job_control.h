// Job control: makes this process stop and continue like the program, for the shell that waits for it.
#pragma once

#include <csignal>
#include <functional>

#include <sys/types.h>

namespace millrace::placement {

[[nodiscard]] inline bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// True if this process's group is in the foreground of its terminal.
[[nodiscard]] bool in_foreground();

// True if an untraced program was stopped like a shell's job: by its terminal, by itself as editors and
// pagers do, or together with this process. A SIGSTOP from elsewhere, with no shell waiting at the terminal,
// is left to its sender, who will continue the program alone.
[[nodiscard]] inline bool stopped_as_a_job(int signal) { return signal != SIGSTOP || in_foreground(); }

// How often SIGCONT has continued this process since the calling thread began to watch. Call it from that
// thread. It is accurate only if SIGCONT is blocked in all other threads: the handler then runs before this
// thread goes on.
[[nodiscard]] unsigned continuations();
void watch_continuations();

// Stops this process with the signal that stopped the program, so that the shell reports that signal. Returns
// when the process continues. Does nothing if both were continued meanwhile: `is_stopped`, called once, tells
// whether the program is still stopped.
void stop_this_process(int signal, const std::function<bool()>& is_stopped);

// For an untraced program that was stopped: true if it has been stopped ever since.
[[nodiscard]] bool is_still_stopped(pid_t program);
// Continues an untraced program after SIGCONT. A SIGCONT to the process group has already continued the
// program; one to this process alone is passed on.
void continue_with_this_process(pid_t program);

}  // namespace millrace::placement
