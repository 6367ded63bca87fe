// Reads the state of this machine that policies need, and warns of what interferes with placement.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/policy/policy.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace::placement {

// Reads the topology into `topology` if it is empty; `topology` must outlive the result. `load`: also
// measures how busy each CPU is, which blocks for 20 ms. Fails if the topology cannot be read.
[[nodiscard]] Result<MachineState> read_machine_state(const machine::CpuSet& allowed,
                                                      std::optional<machine::Topology>& topology, bool load);

// True if other programs occupy more than a quarter of the `allowed` CPUs now. At most eight CPUs are probed.
// A probe thread of a class that preempts nothing is pinned to each CPU and takes a few short sleeps. Alone
// on the CPU it needs one millisecond; if it needs more than two, it had to wait for another thread. The
// result thus tells what this process can use, whatever runs on other CPUs, in other containers or in other
// guests. Also true if no probe thread could be started.
[[nodiscard]] bool others_are_running(const machine::CpuSet& allowed);

// Returns the share of the CPUs that other programs used during an interval, 0 to 1. load: by CPU number over
// that interval; own_seconds: CPU time of the program. Pure.
[[nodiscard]] double taken_share(std::span<const double> load, const machine::CpuSet& allowed, double seconds,
                                 double own_seconds);
// If others use more than this share of the CPUs, the program's gain says nothing about an otherwise idle
// machine.
inline constexpr double most_for_others = 0.25;

// The decision of others_are_running(). Pure.
[[nodiscard]] bool taken_by_others(int asked, int silent);
// The CPUs to probe: all, or `most` of them at even distances. Pure.
[[nodiscard]] std::vector<int> cpus_to_ask(const machine::CpuSet& allowed, int most);

// Warnings for the user about this system, one sentence each: other schedulers and tuners, variables by which
// the program places itself, and autogroups if class or slice were changed.
[[nodiscard]] std::vector<std::string> diagnostics(bool attributes_changed);

}  // namespace millrace::placement
