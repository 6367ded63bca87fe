// The PUs that this process may use, and how many workers make sense on them.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/limits/cgroup_limits.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::machine {

struct UsableCpus {
  CpuSet cpus;                  // never empty
  std::optional<double> quota;  // CPU time per wall time; empty if unlimited
  // The maximum number of workers: min(cpus.count(), floor(quota)), at least 1. The quota is rounded down
  // because the kernel throttles all threads at the end of each period (usually 100 ms) if there are more
  // workers. That stalls every fork-join barrier. Rounding down also keeps the promise never to exceed the
  // allowed CPUs.
  int worker_limit = 1;
  // The same with the quota rounded up, for code that measures the benefit of one more worker.
  int most_workers = 1;
  // Why this is less than the whole machine, one sentence per reason. Empty if it is not.
  std::vector<std::string> reasons;
};

// Pure. `online` is the machine's PUs and is used only for the reasons. `affinity` must not be empty. A
// cpuset that is disjoint from the affinity is ignored, because it changed between the two readings.
[[nodiscard]] MILLRACE_EXPORT UsableCpus usable_cpus_from(const CpuSet& online, const CpuSet& affinity,
                                                          const CgroupLimits& limits);

// For the calling thread. Call it before pinning, because the thread's affinity mask counts. Fails if the
// mask cannot be read.
[[nodiscard]] MILLRACE_EXPORT Result<UsableCpus> usable_cpus(const CpuSet& online);

}  // namespace millrace::machine
