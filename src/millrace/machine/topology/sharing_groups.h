// Which PUs of a machine form the domains that unit traits speak of. Pure.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/units/sharing_domains.h"

#include <vector>

namespace millrace::machine {

struct TopologyParts;

// The groups of a domain, ordered by lowest CPU; every PU is in exactly one. Where the machine does not
// report what would make the group (a cache, a node, a package), a group is what `parts` calls a core.
[[nodiscard]] std::vector<CpuSet> sharing_groups(const TopologyParts& parts, SharingDomain domain);

}  // namespace millrace::machine
