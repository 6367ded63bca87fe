#include "millrace/model/contention/topology_machine.h"

#include <algorithm>

namespace millrace::model {
namespace {

constexpr double memory_of_another_node = 1.6;
constexpr double handover_to_another_cache = 3.7;

using machine::CpuSet;

// The groups as the model's PU numbers, without empty ones.
std::vector<std::vector<int>> numbered(const std::vector<CpuSet>& groups, const TopologyMachine& machine) {
  std::vector<std::vector<int>> all;
  for (const CpuSet& group : groups) {
    std::vector<int> pus;
    for (const int cpu : group)
      if (const int pu = machine.pu_of(cpu); pu >= 0) pus.push_back(pu);
    if (!pus.empty()) all.push_back(std::move(pus));
  }
  return all;
}

bool any_shares(const std::vector<std::vector<int>>& groups) {
  return std::ranges::any_of(groups, [](const std::vector<int>& group) { return group.size() > 1; });
}

}  // namespace

CpuSet TopologyMachine::cpus_of(const std::vector<int>& pus) const {
  CpuSet set;
  for (const int pu : pus)
    set.insert(cpus[static_cast<std::size_t>(pu)]);
  return set;
}

int TopologyMachine::pu_of(int cpu) const {
  const auto found = std::ranges::lower_bound(cpus, cpu);
  return found == cpus.end() || *found != cpu ? -1 : static_cast<int>(found - cpus.begin());
}

TopologyMachine machine_of(const machine::Topology& topology, const CpuSet& cpus) {
  return machine_of(topology, cpus, topology.fpu_groups());
}

TopologyMachine machine_of(const machine::Topology& topology, const CpuSet& cpus,
                           const std::vector<CpuSet>& unit_groups) {
  TopologyMachine made;
  made.cpus = (cpus & topology.cpus()).to_vector();
  made.machine.pus = static_cast<int>(made.cpus.size());
  const machine::SharingDomain of_units = topology.traits().fp.shared_by;
  for (const machine::DomainSlowdown& domain : topology.traits().slowdowns) {
    SharingLevel level{
        .name = std::string(name_of(domain.domain)),
        .groups = numbered(domain.domain == of_units ? unit_groups : topology.groups_of(domain.domain), made),
        .contention = {}};
    if (!any_shares(level.groups)) continue;
    for (const SharedUnit unit : all_shared_units)
      for (const SharedUnit beside : all_shared_units)
        static_cast<void>(level.contention.set(unit, beside, domain.slowdown[unit][beside]));
    made.machine.levels.push_back(std::move(level));
  }
  made.machine.nodes = numbered(topology.groups_of(machine::SharingDomain::node), made);
  if (made.machine.nodes.size() > 1) made.machine.remote_memory = memory_of_another_node;
  made.machine.caches = numbered(topology.groups_of(machine::SharingDomain::llc), made);
  if (made.machine.caches.size() > 1) made.machine.far_handover = handover_to_another_cache;
  return made;
}

}  // namespace millrace::model
