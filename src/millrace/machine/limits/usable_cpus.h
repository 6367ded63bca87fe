// The PUs that this process may use and the number of workers that makes sense on them.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/limits/cgroup_limits.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::machine {

struct UsableCpus {
  CpuSet cpus;                  // never empty
  std::optional<double> quota;  // CPU time per time, in CPUs; none when unlimited
  // The most workers to run at once: min(cpus.count(), floor(quota)), at least 1. The quota is rounded down
  // because workers beyond it are throttled all together at the end of every period (usually 100 ms), which
  // stalls every barrier of a fork-join; it also keeps the promise that a worker count is never more than
  // allowed.
  int worker_limit = 1;
  // The same with the quota rounded up: for whoever measures what a worker beyond it is worth.
  int most_workers = 1;
  // What made it less than the whole machine, one sentence each; empty when nothing did.
  std::vector<std::string> reasons;
};

// Pure. `online` is the machine's PUs, for the reasons only; `affinity` is not empty. A cpuset that shares
// nothing with the affinity (it changed between the two readings) is left out of account.
[[nodiscard]] MILLRACE_EXPORT UsableCpus usable_cpus_from(const CpuSet& online, const CpuSet& affinity,
                                                          const CgroupLimits& limits);

// For the calling thread, whose affinity mask counts: call it before binding. Failure when the mask cannot be
// read.
[[nodiscard]] MILLRACE_EXPORT Result<UsableCpus> usable_cpus(const CpuSet& online);

}  // namespace millrace::machine
