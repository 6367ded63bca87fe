// What the machine at hand tells policies, and what stands in their way on it.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/policy/policy.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace::placement {

// Reads the topology where `topology` has none yet; it must outlive what is returned. `load`: also how busy
// each CPU is, which takes 20 ms of waiting. Failure when the topology cannot be read.
[[nodiscard]] Result<Surroundings> read_surroundings(const machine::CpuSet& allowed,
                                                     std::optional<machine::Topology>& topology, bool load);

// Whether others take the CPUs now: more than one of every four of `allowed`, of eight of them where they are
// many. The CPUs themselves are asked: a thread that interrupts nobody is bound to each, sleeps for some
// moments, which takes one millisecond where nothing else runs, and where it is not through within two, it
// had to wait for something. So what counts is what this process can use, whatever runs on other CPUs of the
// machine, in other containers or beside this guest. Also true where no thread could be made to ask.
[[nodiscard]] bool others_are_running(const machine::CpuSet& allowed);

// The share of the CPUs that others took over a time, 0 to 1. load: of each CPU over that time, by number;
// own: CPU seconds of the program. Pure.
[[nodiscard]] double taken_share(std::span<const double> load, const machine::CpuSet& allowed, double seconds,
                                 double own_seconds);
// More than this of the CPUs in the hands of others, and what a program gains says nothing of a machine of
// its own.
inline constexpr double most_for_others = 0.25;

// The decision of others_are_running(). Pure.
[[nodiscard]] bool taken_by_others(int asked, int silent);
// Which CPUs to ask: all, or `most` of them at even distances. Pure.
[[nodiscard]] std::vector<int> cpus_to_ask(const machine::CpuSet& allowed, int most);

// What a user should know of this system beside the run, one sentence each: other schedulers and tuners,
// variables by which the program places itself, autogroups where class or slice were changed.
[[nodiscard]] std::vector<std::string> diagnostics(bool attributes_changed);

}  // namespace millrace::placement
