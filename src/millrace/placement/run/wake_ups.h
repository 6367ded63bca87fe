// WakeUps: how often threads give their CPU away and how often it is taken from them, and what that says of
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

// Of some threads during some time.
struct WakeUps {
  double run_seconds = 0;      // on a CPU
  std::int64_t voluntary = 0;  // switches to wait for something: a lock, data, a thread that is to wake it
  std::int64_t involuntary =
      0;  // switches as another thread got its CPU: one that woke, or as its slice had ended
};

// Reads them of threads, twice.
class WakeUpLook {
 public:
  // The look begins; run_ns: what all threads have run so far.
  WakeUpLook(const std::vector<pid_t>& threads, std::int64_t run_ns);
  // What has happened since, of the threads that were there all the time.
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

// One line for a person: whether threads are stopped for one another as they wake, which class batch spares
// them, or not, so that it has nothing to spare. A slice that ends takes the CPU away, too; that happens at
// most once in slice_ns of running. changed: the same under `plan`, where there was one. "" where a look says
// nothing.
[[nodiscard]] std::string explain_wake_ups(const std::optional<WakeUps>& untouched,
                                           const std::optional<WakeUps>& changed, const std::string& plan,
                                           std::int64_t slice_ns);

}  // namespace millrace::placement
