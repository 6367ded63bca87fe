// Which threads are kept apart because they want the same of what PUs share. Pure.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/processor/demand.h"
#include "millrace/machine/topology/topology.h"

#include <map>
#include <span>

namespace millrace::placement {

// A thread of which is known what it uses.
struct UnitThread {
  int number = 0;  // order of birth
  machine::Demand demand;
  double busy = 1;  // the share of the time that it computed lately, 0 to 1
};

// By a thread's number; those that are not in it go where the kernel has them.
using UnitMasks = std::map<int, machine::CpuSet>;

// The rule of the WorkOver paper (section 5.3): of N groups of PUs that share floating-point units, the N
// threads that use these most have the first PU of a group each, the next N the second ones. A thread that
// has such a PU by `before` keeps it as long as it is among them.
[[nodiscard]] UnitMasks workover_masks(const machine::Topology& topology, const machine::CpuSet& allowed,
                                       std::span<const UnitThread> threads, const UnitMasks& before);

// Ours: each thread in the group where the model of contention has them all run fastest together, free within
// it. Nothing where no PUs share anything, where there are more computing threads than PUs, as moving them is
// worth more than what they share, or where it promises less than 2 % over what chance does. `before` stays
// unless another promises 2 % more.
[[nodiscard]] UnitMasks apart_masks(const machine::Topology& topology, const machine::CpuSet& allowed,
                                    std::span<const UnitThread> threads, const UnitMasks& before);

}  // namespace millrace::placement
