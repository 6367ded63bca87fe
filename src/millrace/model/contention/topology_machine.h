// A machine of the model from the topology of one, and what is known of its processor family.
#pragma once

#include "millrace/machine/topology/topology.h"
#include "millrace/model/contention/shared_machine.h"

#include <vector>

namespace millrace::model {

// The PUs of the model are 0 to n - 1; cpus says what the kernel calls them.
struct TopologyMachine {
  SharedMachine machine;
  std::vector<int> cpus;
  [[nodiscard]] machine::CpuSet cpus_of(const std::vector<int>& pus) const;
  [[nodiscard]] int pu_of(int cpu) const;  // -1: none
};

// A level for each domain of which the unit traits tell slowdowns and that several of the PUs share. Memory
// of another node is taken to be 1.6 times as far, the hand-over of a cache line to another last-level
// cache 3.7 times (as measured: 230 ns for 62). Only `cpus` of the topology.
[[nodiscard]] TopologyMachine machine_of(const machine::Topology& topology, const machine::CpuSet& cpus);

// The same with other groups of PUs that share execution units, such as a probe has measured: they take the
// place of those of the domain that shares floating-point units.
[[nodiscard]] TopologyMachine machine_of(const machine::Topology& topology, const machine::CpuSet& cpus,
                                         const std::vector<machine::CpuSet>& unit_groups);

}  // namespace millrace::model
