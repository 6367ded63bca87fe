// The rule of the WorkOver paper (sections 4.2 and 5.3), implemented literally. Pure; call one step per
// second.
//
//   const WorkoverGround ground = workover_ground(topology, allowed);
//   WorkoverStep step;
//   for (;;) step = by_workover(step.state, ground, threads_now);   // then apply step.masks
//
// Take N groups of PUs that share floating-point units. The N active threads that use these most are pinned
// to the first PUs of distinct groups, and the next N to the second PUs. The rest is not restricted. Threads
// that were pinned before stay on their PU. A thread that has been pinned for more than one step keeps its
// group if it changes between first and second. A thread that returns gets the PU that it has had most.
//
// The paper leaves several NUMA nodes or last-level caches to future work. Here the rule applies to each
// cache. A thread stays on the cache on which it runs, with two exceptions: there are more threads than PUs,
// or more of them use floating point than there are groups while another cache has a group to spare.
#pragma once

#include "millrace/machine/topology/topology.h"
#include "millrace/placement/units/unit_thread.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace millrace::placement {

// One last-level cache, or one NUMA node if each group has its own cache: the groups of PUs that share
// floating-point units.
struct WorkoverPart {
  int node = 0;
  machine::CpuSet cpus;
  std::vector<machine::CpuSet> groups;
};
using WorkoverGround = std::vector<WorkoverPart>;

// Describes the PUs in `allowed`.
[[nodiscard]] WorkoverGround workover_ground(const machine::Topology& topology,
                                             const machine::CpuSet& allowed);

struct WorkoverSeat {
  int cpu = -1;                // the PU it is pinned to; -1: not pinned
  int rank = 0;                // 0: among the first N, 1: among the next N
  int steps = 0;               // steps since it came among either
  std::map<int, int> history;  // steps on each PU
  [[nodiscard]] friend bool operator==(const WorkoverSeat&, const WorkoverSeat&) = default;
};
using WorkoverState = std::map<std::int64_t, WorkoverSeat>;  // by thread

struct WorkoverStep {
  WorkoverState state;
  std::vector<machine::CpuSet> masks;  // of each thread, in order; empty: the mask it was given
};

// Threads are active if they compute at least 5 % of the time. If none uses floating point for more than 1 %
// of its time, none is pinned. Threads that may not use all of the ground are left alone. State of threads
// that are gone is dropped.
[[nodiscard]] WorkoverStep by_workover(const WorkoverState& before, const WorkoverGround& ground,
                                       std::span<const UnitThread> threads);

}  // namespace millrace::placement
