// InheritedState: attributes that a process keeps across exec but does not pass to its children.
#pragma once

#include "millrace/base/error/result.h"

#include <array>

#include <sys/time.h>
#include <sys/types.h>

namespace millrace::placement {

// Passes them on, so that a program run in a child still finds them. Safe between fork and exec, except
// hand_down().
class InheritedState {
 public:
  // The attributes of this process.
  [[nodiscard]] static InheritedState now();

  // Call this in the parent, while the new child waits. If the parent asked the kernel to reset the
  // scheduling class for children (SCHED_RESET_ON_FORK, `chrt -R`), gives the child the parent's class. Fails
  // if that needs a missing privilege.
  [[nodiscard]] Status hand_down(pid_t child) const;
  // Call this in the child just before exec. Sets the parent-death signal, the subreaper flag and the timers.
  // maker: its parent at the fork.
  void take_over(pid_t maker) const;
  // Call this in the parent once the child has the timers, so that they expire only there.
  void give_up_timers() const;

 private:
  static constexpr std::array timers = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

  int parent_death_signal_ = 0;
  bool is_subreaper_ = false;
  bool resets_on_fork_ = false;
  std::array<itimerval, timers.size()> set_{};
};

}  // namespace millrace::placement
