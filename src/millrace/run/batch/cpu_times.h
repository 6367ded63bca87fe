// How busy CPUs are, whoever keeps them so.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"

#include <optional>
#include <string_view>

namespace millrace::run {

// Since the machine started, of several CPUs together, in the kernel's ticks.
struct CpuTimes {
  double idle = 0;
  double all = 0;
};

// Of what /proc/stat says. Nothing where it names none of them. Pure.
[[nodiscard]] std::optional<CpuTimes> parse_cpu_times(std::string_view stat, const machine::CpuSet& cpus);
// Now.
[[nodiscard]] std::optional<CpuTimes> read_cpu_times(const machine::CpuSet& cpus);

// Share of the time between two readings in which the CPUs had something to do, 0 to 1; nothing where no time
// has passed.
[[nodiscard]] std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after);

}  // namespace millrace::run
