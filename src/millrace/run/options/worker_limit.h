// WorkerLimit: how many threads may work at a time here, under each affinity arrangement.
//
//   run::WorkerLimit limit(machine->topology, machine->usable, machine->usable.worker_limit);
//   limit.workers();                                            // 8
//   limit.under(machine::AffinityArrangement::io_diff);         // 6: two CPUs are the I/O thread's core
#pragma once

#include "millrace/machine/limits/usable_cpus.h"
#include "millrace/machine/topology/affinity_arrangement.h"

#include <algorithm>
#include <vector>

namespace millrace::run {

class WorkerLimit {
 public:
  // The same limit under every arrangement, for callers without a machine.
  WorkerLimit(int workers) : workers_(workers) {}  // NOLINT(google-explicit-constructor)
  // `workers`: the limit by affinity mask, cpuset and quota, or the size of the pool that does the work.
  WorkerLimit(const machine::Topology& topology, const machine::UsableCpus& usable, int workers)
      : workers_(workers) {
    for (const auto arrangement : machine::all_affinity_arrangements)
      pus_.push_back({arrangement, machine::most_workers(topology, usable.cpus, arrangement)});
  }

  [[nodiscard]] int workers() const { return workers_; }
  // At least 1, even if the arrangement is impossible here; arrange() explains why.
  [[nodiscard]] int under(machine::AffinityArrangement arrangement) const {
    const auto found = std::ranges::find(pus_, arrangement, &machine::ArrangementLimit::arrangement);
    return found == pus_.end() ? workers_ : std::clamp(found->most_workers, 1, std::max(workers_, 1));
  }

 private:
  int workers_;
  std::vector<machine::ArrangementLimit> pus_;
};

}  // namespace millrace::run
