// LoadGauge: tells at any moment, without waiting, how busy each CPU was recently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Run time of a main thread, and the CPU on which it ran last.
struct MainRun {
  std::int64_t run_ns = 0;
  int cpu = -1;
};

// Subtracts the main threads' own run time from `load`, so that a thread is not placed by the load that it
// causes itself. before and now: readings by process, taken `passed_ns` apart; processes in only one of them
// are ignored. Pure.
[[nodiscard]] std::vector<double> load_of_others(std::vector<double> load, std::int64_t passed_ns,
                                                 const std::map<pid_t, MainRun>& before,
                                                 const std::map<pid_t, MainRun>& now);

// Not thread-safe.
class LoadGauge {
 public:
  // True if enough time has passed for the kernel's counters to have advanced.
  [[nodiscard]] bool due(std::int64_t now_ns) const;
  // Returns the load by CPU number, 0 idle to 1 busy, without the main threads of `processes`. It covers the
  // shortest interval that the counters can resolve, about 20 ms, up to now; frequent calls keep it short.
  // Returns nothing if no reading is due or the kernel does not report the load.
  [[nodiscard]] std::optional<std::vector<double>> look(std::int64_t now_ns,
                                                        std::span<const pid_t> processes);

 private:
  struct Reading {
    std::int64_t time_ns = 0;
    std::string stat;
    std::map<pid_t, MainRun> mains;
  };
  std::deque<Reading> readings_;  // in order; only the first may be older than the reading to compare with
};

}  // namespace millrace::placement
