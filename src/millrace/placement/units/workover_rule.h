// The rule of the WorkOver paper (sections 4.2 and 5.3), literally, as a step that somebody takes each
// second. Pure.
//
//   const WorkoverGround ground = workover_ground(topology, allowed);
//   WorkoverStep step;
//   for (;;) step = by_workover(step.state, ground, threads_now);   // and give out step.masks
//
// Of N groups of PUs that share floating-point units, the N active threads which use these most are bound to
// the first PUs of distinct groups, the next N to the second PUs; the rest has no restriction. Threads that
// were among these already stay on their PU; who has been for more than one step is not put on another group
// because it changed between first and second; who comes back gets the PU that it has had most. What the
// paper leaves to later, more than one NUMA node or last-level cache, goes first: a thread stays on the cache
// where it runs, unless there are more threads than PUs, or more of them use floating point than there are
// groups while another cache has a group to spare; and the rule is that of each cache.
#pragma once

#include "millrace/machine/topology/topology.h"
#include "millrace/placement/units/unit_thread.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace millrace::placement {

// One last-level cache, or one NUMA node where each group has a cache of its own: the groups of PUs that
// share floating-point units.
struct WorkoverPart {
  int node = 0;
  machine::CpuSet cpus;
  std::vector<machine::CpuSet> groups;
};
using WorkoverGround = std::vector<WorkoverPart>;

// Of the PUs in `allowed`.
[[nodiscard]] WorkoverGround workover_ground(const machine::Topology& topology,
                                             const machine::CpuSet& allowed);

struct WorkoverSeat {
  int cpu = -1;                // bound to now; -1: free
  int rank = 0;                // 0: among the first N, 1: among the next
  int steps = 0;               // for how many it has been among either
  std::map<int, int> history;  // steps on each PU
  [[nodiscard]] friend bool operator==(const WorkoverSeat&, const WorkoverSeat&) = default;
};
using WorkoverState = std::map<std::int64_t, WorkoverSeat>;  // by thread

struct WorkoverStep {
  WorkoverState state;
  std::vector<machine::CpuSet> masks;  // of each thread, in their order; empty: what it was given
};

// Threads are active from 5 % of the time on. Where none of them uses floating point for more than 1 % of its
// time, nothing is bound. Threads that may not use all of the ground are left alone. State of threads that
// are gone is dropped.
[[nodiscard]] WorkoverStep by_workover(const WorkoverState& before, const WorkoverGround& ground,
                                       std::span<const UnitThread> threads);

}  // namespace millrace::placement
