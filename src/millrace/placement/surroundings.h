// What the machine at hand tells policies, and what stands in their way on it.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/topology.h"
#include "millrace/placement/policy.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// Reads the topology where `topology` has none yet; it must outlive what is returned. `load`: also how busy
// each CPU is, which takes 20 ms of waiting. Failure when the topology cannot be read.
[[nodiscard]] Result<Surroundings> read_surroundings(const machine::CpuSet& allowed,
                                                     std::optional<machine::Topology>& topology, bool load);

// Whether others take the CPUs now: more threads than one for every four of `allowed`, in each of three looks
// within two milliseconds, as a thread that runs for a moment is no load. Waits only while there are others.
[[nodiscard]] bool others_are_running(const machine::CpuSet& allowed);

// What a user should know of this system beside the run, one sentence each: other schedulers and tuners,
// variables by which the program places itself, autogroups where class or slice were changed.
[[nodiscard]] std::vector<std::string> diagnostics(bool attributes_changed);

}  // namespace millrace::placement
