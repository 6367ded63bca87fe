#include "millrace/machine/topology/sharing_groups.h"

#include "millrace/machine/topology/topology.h"

#include <algorithm>
#include <utility>

namespace millrace::machine {
namespace {

bool makes_group(const TopologyParts& parts, const Cache& cache, SharingDomain domain) {
  switch (domain) {
  case SharingDomain::l1:
    return cache.level == 1 && holds_data(cache);
  // The modules of AMD family 15h. On every generation the L1 instruction cache and the L2 each serve exactly
  // one module. Check both: the kernel reports a module as a core with two PUs, hwloc on its own as two
  // cores.
  case SharingDomain::module:
    return cache.level == 2 || (cache.level == 1 && cache.type == CacheType::instruction);
  case SharingDomain::l2:
    return cache.level == 2 && holds_data(cache);
  case SharingDomain::llc:
    return holds_data(cache) && std::ranges::none_of(parts.caches, [&](const Cache& other) {
             return holds_data(other) && other.level > cache.level && other.cpus.intersects(cache.cpus);
           });
  default:
    return false;
  }
}

// Merges sets of `parts` that intersect the same set of `together`, and no others.
std::vector<CpuSet> united(const std::vector<CpuSet>& parts, const std::vector<CpuSet>& together) {
  std::vector<CpuSet> groups;
  CpuSet done;
  for (const CpuSet& part : parts) {
    if (done.contains_all(part)) continue;
    CpuSet group = part;
    for (const CpuSet& set : together)
      if (set.intersects(part)) group |= set;
    group -= done;
    done |= group;
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<CpuSet> singletons(const std::vector<CpuSet>& sets) {
  std::vector<CpuSet> all;
  for (const CpuSet& set : sets)
    for (const int cpu : set)
      all.push_back({cpu});
  return all;
}

}  // namespace

std::vector<CpuSet> sharing_groups(const TopologyParts& parts, SharingDomain domain) {
  std::vector<CpuSet> groups;
  std::vector<CpuSet> together;
  for (const Cache& cache : parts.caches)
    if (makes_group(parts, cache, domain)) together.push_back(cache.cpus);
  switch (domain) {
  case SharingDomain::pu:
    groups = singletons(parts.cores);
    break;
  case SharingDomain::l1: {
    // Half cores are smaller than cores: caches define the groups, and cores fill in the rest.
    CpuSet served;
    for (const CpuSet& set : together) {
      if (!set.empty() && !served.intersects(set)) groups.push_back(set);
      served |= set;
    }
    for (const CpuSet& core : parts.cores)
      if (const CpuSet rest = core - served; !rest.empty()) groups.push_back(rest);
    break;
  }
  case SharingDomain::core:
    groups = parts.cores;
    break;
  case SharingDomain::node:
    for (const NumaNode& node : parts.numa_nodes)
      together.push_back(node.cpus);
    groups = united(parts.cores, together);
    break;
  case SharingDomain::package:
    for (const Package& package : parts.packages)
      together.push_back(package.cpus);
    groups = united(parts.cores, together);
    break;
  case SharingDomain::module:
  case SharingDomain::l2:
  case SharingDomain::llc:
    groups = united(parts.cores, together);
    break;
  }
  std::ranges::sort(groups, {}, &CpuSet::lowest);
  return groups;
}

}  // namespace millrace::machine
