// WakeUps: how often threads give up their CPU and how often it is taken from them, and what that says about
// class batch.
#pragma once

#include "millrace/placement/policy/plan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Counts of some threads over an interval.
struct WakeUps {
  double run_seconds = 0;        // on a CPU
  std::int64_t voluntary = 0;    // switches to wait: for a lock, data or another thread
  std::int64_t involuntary = 0;  // switches because another thread woke or the slice had ended
};

// Reads the counts of threads twice.
class WakeUpLook {
 public:
  // Begins the look. run_ns: run time of all threads so far.
  WakeUpLook(const std::vector<pid_t>& threads, std::int64_t run_ns);
  // Returns what has happened since, for the threads that existed all the time.
  [[nodiscard]] WakeUps until_now(std::int64_t run_ns) const;

 private:
  struct Switches {
    std::int64_t voluntary = 0;
    std::int64_t involuntary = 0;
  };
  [[nodiscard]] static std::optional<Switches> read(pid_t thread);

  std::map<pid_t, Switches> before_;
  std::int64_t run_ns_;
};

// One line for a person: whether threads are preempted by others that wake up. Class batch would avoid that,
// and if they are not, it has nothing to avoid. A slice that ends also takes the CPU away, at most once per
// slice_ns of run time. changed: the same under `plan`, if there was one. "" if there is too little data.
[[nodiscard]] std::string explain_wake_ups(const std::optional<WakeUps>& untouched,
                                           const std::optional<WakeUps>& changed, const std::string& plan,
                                           std::int64_t slice_ns);

}  // namespace millrace::placement
