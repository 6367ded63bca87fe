// Builds the model's machine from a topology and the traits of its processor family.
#pragma once

#include "millrace/machine/topology/topology.h"
#include "millrace/model/contention/shared_machine.h"

#include <vector>

namespace millrace::model {

// The model's PUs are 0 to n - 1. `cpus` has their kernel numbers.
struct TopologyMachine {
  SharedMachine machine;
  std::vector<int> cpus;
  [[nodiscard]] machine::CpuSet cpus_of(const std::vector<int>& pus) const;
  [[nodiscard]] int pu_of(int cpu) const;  // -1: none
};

// Makes a level for each domain that has slowdowns in the unit traits and is shared by several of the PUs.
// Assumes that remote memory takes 1.6 times as long, and a cache-line transfer to another last-level cache
// 3.7 times (as measured: 230 ns against 62). Only includes `cpus`.
[[nodiscard]] TopologyMachine machine_of(const machine::Topology& topology, const machine::CpuSet& cpus);

// The same with other groups of PUs that share execution units, for example from a probe. They replace the
// groups of the domain that shares floating-point units.
[[nodiscard]] TopologyMachine machine_of(const machine::Topology& topology, const machine::CpuSet& cpus,
                                         const std::vector<machine::CpuSet>& unit_groups);

}  // namespace millrace::model
