// CpuUse: what the workers of a run had of the CPUs, and how long they waited for one.
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

// Seconds.
struct CpuUse {
  double ran = 0;      // the workers together
  double waited = 0;   // had work, and no CPU to do it on
  double process = 0;  // that all threads of this process ran, codecs included
  double wall = 0;
  int cpus = 1;  // that the process may use
};

// Of the time that the workers had work.
[[nodiscard]] double waiting_share(const CpuUse& use);
// Whether they waited long enough to be told, and for CPUs that other programs had.
[[nodiscard]] bool lacks_cpus(const CpuUse& use);
// A sentence without an end: "the workers waited 45 % of their time for a CPU, ..."; empty where they
// hardly waited.
[[nodiscard]] std::string describe(const CpuUse& use);

// What the kernel tells of a worker, in seconds.
struct WorkerTimes {
  pid_t thread = 0;
  int number = 0;
  double ran = 0;
  double waited = 0;
};
// The threads that are called worker-N by their numbers, 64 at most, then the calling one, which is a worker
// as well. Empty where the kernel does not tell.
[[nodiscard]] std::vector<WorkerTimes> worker_times();
// CPU time of all threads of this process.
[[nodiscard]] double process_seconds();

// From its beginning on.
class CpuWatch {
 public:
  CpuWatch();

  // By the same thread. None where the kernel does not tell.
  [[nodiscard]] std::optional<CpuUse> since_then(int cpus) const;

 private:
  std::int64_t begin_ns_;
  std::vector<WorkerTimes> workers_;
  double process_;
};

}  // namespace millrace::run
