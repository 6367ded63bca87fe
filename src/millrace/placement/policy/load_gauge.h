// LoadGauge: how busy each CPU was lately, at any moment and without waiting.
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

// How long main threads have run, and where the last one of their moments was.
struct MainRun {
  std::int64_t run_ns = 0;
  int cpu = -1;
};

// `load` without what main threads had of it: who is placed by the load is none to itself. before, now: by
// process, `passed_ns` apart; those that are in one only are passed over. Pure.
[[nodiscard]] std::vector<double> load_of_others(std::vector<double> load, std::int64_t passed_ns,
                                                 const std::map<pid_t, MainRun>& before,
                                                 const std::map<pid_t, MainRun>& now);

// Used by one thread at a time.
class LoadGauge {
 public:
  // Whether enough time has passed for the kernel's counts to say something new.
  [[nodiscard]] bool due(std::int64_t now_ns) const;
  // By CPU number, 0 idle to 1 busy, from the shortest time that counts can tell of, some 20 ms, to now,
  // without the main threads of these processes. Nothing where it is not due, or the kernel does not tell.
  // The more often it is called, the shorter that time.
  [[nodiscard]] std::optional<std::vector<double>> look(std::int64_t now_ns,
                                                        std::span<const pid_t> processes);

 private:
  struct Reading {
    std::int64_t time_ns = 0;
    std::string stat;
    std::map<pid_t, MainRun> mains;
  };
  std::deque<Reading> readings_;  // in order; only the first may be older than what is compared with
};

}  // namespace millrace::placement
