// Job control: makes this process stop and continue like the program, for the shell that waits for it.
#pragma once

#include <csignal>
#include <functional>

#include <sys/types.h>

namespace millrace::placement {

[[nodiscard]] inline bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// True if a shell waits at the terminal for this process: its group is in the foreground, or one that the
// program has made, as interactive shells do.
[[nodiscard]] bool in_foreground(pid_t program);

// True if an untraced program was stopped like a shell's job: by its terminal, by itself as editors and
// pagers do, or together with this process. A SIGSTOP from elsewhere, with no shell waiting at the terminal,
// is left to its sender, who will continue the program alone.
[[nodiscard]] inline bool stopped_as_a_job(int signal, pid_t program) {
  return signal != SIGSTOP || in_foreground(program);
}

// How often SIGCONT has continued this process since the calling thread began to watch. Call it from that
// thread. It is accurate only if SIGCONT is blocked in all other threads: the handler then runs before this
// thread goes on.
[[nodiscard]] unsigned continuations();
void watch_continuations();

// Stops this process with the signal that stopped the program, so that the shell reports that signal. Returns
// when the process continues. Does nothing if both were continued meanwhile: `is_stopped`, called once, tells
// whether the program is still stopped.
void stop_this_process(int signal, const std::function<bool()>& is_stopped);

// A program that has a process group of its own in the foreground, for while it and this process are stopped.
// The shell continues the group that it knows, this process's, and gives that the terminal.
class OwnForegroundGroup {
 public:
  // Call this while the program is stopped.
  explicit OwnForegroundGroup(pid_t program);
  // Call this after this process has continued. Gives the program's group the terminal, if the shell gave it
  // to this process, and continues it. Returns false and does nothing if the program had no such group.
  [[nodiscard]] bool resume() const;

 private:
  pid_t group_ = 0;  // 0: none
};

// Stops this process like an untraced program that was stopped, and continues the program afterwards. A
// SIGCONT to the process group has already continued the program; one to this process alone is passed on.
void stop_like_the_program(int signal, pid_t program);

}  // namespace millrace::placement
