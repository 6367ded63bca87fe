// CpuUse: CPU time of a run's workers, and how long they waited for a CPU.
//
//   const CpuWatch watch;
//   ...
//   if (const auto use = watch.since_then(usable_cpus)) std::puts(describe(*use).c_str());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::run {

// Times in seconds.
struct CpuUse {
  double ran = 0;      // CPU time of all workers
  double waited = 0;   // time that workers were runnable without a CPU
  double process = 0;  // CPU time of all threads of this process, codecs included
  double wall = 0;
  int cpus = 1;  // CPUs that the process may use
};

// Share of the workers' runnable time that they waited for a CPU.
[[nodiscard]] double waiting_share(const CpuUse& use);
// Whether the workers waited noticeably long, for CPUs that other programs used.
[[nodiscard]] bool lacks_cpus(const CpuUse& use);
// A clause without a full stop: "the workers waited 45 % of their time for a CPU, ...". Empty if they hardly
// waited.
[[nodiscard]] std::string describe(const CpuUse& use);

// The kernel's figures for one worker, in seconds.
struct WorkerTimes {
  pid_t thread = 0;
  int number = 0;
  double ran = 0;
  double waited = 0;
};
// The threads named worker-N, by number, at most 64; then the calling thread, which is a worker too. Empty if
// the kernel does not tell.
[[nodiscard]] std::vector<WorkerTimes> worker_times();
// CPU time of all threads of this process.
[[nodiscard]] double process_seconds();

// Measures from its construction on.
class CpuWatch {
 public:
  CpuWatch();

  // Call it from the constructing thread. Nullopt if the kernel does not tell.
  [[nodiscard]] std::optional<CpuUse> since_then(int cpus) const;

 private:
  std::int64_t begin_ns_;
  std::vector<WorkerTimes> workers_;
  double process_;
};

}  // namespace millrace::run
