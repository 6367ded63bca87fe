// BirthsUnderWay: tells whether a thread may be in the middle of fork() or clone(), with a child that will
// inherit the thread's earlier state.
#pragma once

#include "millrace/base/error/clock.h"

#include <cstdint>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// The kernel copies mask, class and slice at the start of fork() and clone(), and makes the child visible at
// the end. If the maker is restored in between and its children are listed then, the child is missed and
// keeps the changed state for life. A thread inside fork() or clone() is running, waits for a CPU or, rarely,
// is in uninterruptible sleep. So a thread seen in any other state since its restore has no such child on the
// way. Neither has a thread that has run for longer since then than fork() takes.
//
// Not thread-safe.
class BirthsUnderWay {
 public:
  // The result of one look at the program, after which everything new has been restored.
  struct Look {
    std::vector<pid_t> processes;  // its processes now
    bool found_new = false;
  };

  // True if some thread of the processes may still be in fork() or clone().
  [[nodiscard]] bool any(const std::vector<pid_t>& processes);

  // Looks repeatedly until nothing new is found and no birth is under way. It gives up after one second,
  // which happens only if a thread waits for a CPU all that time.
  template <class LookAndRestore> void wait_until_none(const LookAndRestore& look_and_restore) {
    constexpr std::int64_t patience_ns = 1'000'000'000;
    constexpr useconds_t pause_us = 500;
    // A single calm look may have missed a child: the kernel's list of children skips entries while others
    // end. The last look must also follow the moment when the last thread was found outside fork().
    constexpr int enough = 2;
    const std::int64_t end_ns = now_ns() + patience_ns;
    for (int calm = 0; calm < enough && now_ns() < end_ns;) {
      const Look look = look_and_restore();
      calm = any(look.processes) || look.found_new ? 0 : calm + 1;
      if (calm == 0) usleep(pause_us);
    }
  }

 private:
  // Run time of each thread when it was first seen; `none` once it cannot be making a thread.
  std::unordered_map<pid_t, std::int64_t> running_since_;
};

}  // namespace millrace::placement
