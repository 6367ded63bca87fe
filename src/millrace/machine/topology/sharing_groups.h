// Computes which PUs form each sharing domain of unit traits. Pure.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/units/sharing_domains.h"

#include <vector>

namespace millrace::machine {

struct TopologyParts;

// The groups of a domain, ordered by lowest CPU. Every PU is in exactly one group. If the machine does not
// report the object that defines the domain (a cache, a node, a package), the groups are the cores of
// `parts`.
[[nodiscard]] std::vector<CpuSet> sharing_groups(const TopologyParts& parts, SharingDomain domain);

}  // namespace millrace::machine
