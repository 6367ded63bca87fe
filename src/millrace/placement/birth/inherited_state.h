// InheritedState: what a process keeps when it executes a program, and its children do not get.
#pragma once

#include "millrace/base/result.h"

#include <array>

#include <sys/time.h>
#include <sys/types.h>

namespace millrace::placement {

// A program that is started by a child finds it all the same. Safe between fork and exec, but for
// hand_down().
class InheritedState {
 public:
  // What this process has.
  [[nodiscard]] static InheritedState now();

  // In the maker: gives its new child, which waits, the class that it had itself, where it has asked the
  // kernel to reset that for children (SCHED_RESET_ON_FORK, `chrt -R`). Failure where that takes a right that
  // is missing.
  [[nodiscard]] Status hand_down(pid_t child) const;
  // In the child, right before it executes the program: the parent-death signal, the flag of subreapers, and
  // the timers. maker: its parent as it was made.
  void take_over(pid_t maker) const;
  // In the maker, once the child has its timers: they run out there alone.
  void give_up_timers() const;

 private:
  static constexpr std::array timers = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

  int parent_death_signal_ = 0;
  bool is_subreaper_ = false;
  bool resets_on_fork_ = false;
  std::array<itimerval, timers.size()> set_{};
};

}  // namespace millrace::placement
