// BirthsUnderWay: whether a thread may be in the midst of making another, which has what its maker had
// before.
#pragma once

#include "millrace/base/clock.h"

#include <cstdint>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// The kernel copies mask, class and slice at the beginning of fork() and clone(), and shows the child at the
// end of it: who restores the maker in between, and looks for children then, misses one that keeps for life
// what the maker had been given. Who makes one is running, waits for a CPU or, seldom, sleeps so that no
// signal wakes it. So a thread that has been seen in any other state since it was restored has nothing old on
// its way; nor has one that has run for longer than fork() takes.
//
// Used by one thread at a time.
class BirthsUnderWay {
 public:
  // What was found by looking at a program once, with everything that was new restored.
  struct Look {
    std::vector<pid_t> processes;  // that it has now
    bool found_new = false;
  };

  // Whether some thread of the processes has not been seen yet where it makes none.
  [[nodiscard]] bool any(const std::vector<pid_t>& processes);

  // Looks again and again until nothing new is found and none is under way; for a second at most, which takes
  // a thread that waits for a CPU all that time.
  template <class LookAndRestore> void wait_until_none(const LookAndRestore& look_and_restore) {
    constexpr std::int64_t patience_ns = 1'000'000'000;
    constexpr useconds_t pause_us = 500;
    // One look that finds nothing may have overlooked a child: the kernel's list of them skips some as others
    // end. And the last look must come after the last thread was seen to make none.
    constexpr int enough = 2;
    const std::int64_t end_ns = now_ns() + patience_ns;
    for (int calm = 0; calm < enough && now_ns() < end_ns;) {
      const Look look = look_and_restore();
      calm = any(look.processes) || look.found_new ? 0 : calm + 1;
      if (calm == 0) usleep(pause_us);
    }
  }

 private:
  // By thread: what it had run when it was seen first; nothing once it cannot be making one.
  std::unordered_map<pid_t, std::int64_t> running_since_;
};

}  // namespace millrace::placement
