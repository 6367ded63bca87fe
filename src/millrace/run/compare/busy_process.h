// A process that keeps one of the given CPUs busy, as a noisy neighbour for measurements.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"

#include <utility>

#include <sys/types.h>

namespace millrace::run {

class BusyProcess {
 public:
  [[nodiscard]] static Result<BusyProcess> start(const machine::CpuSet& cpus);
  ~BusyProcess();
  BusyProcess(BusyProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  BusyProcess& operator=(BusyProcess&&) = delete;

 private:
  explicit BusyProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace millrace::run
