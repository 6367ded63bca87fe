// How busy CPUs are, whoever keeps them so.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace::machine {

// Since the machine started, in the kernel's ticks. Waiting for a disk is not being busy.
struct CpuTimes {
  std::int64_t busy = 0;
  std::int64_t all = 0;
};

// Of several CPUs together, of what /proc/stat says. Nothing where it names none of them. Pure.
[[nodiscard]] std::optional<CpuTimes> parse_cpu_times(std::string_view stat, const CpuSet& cpus);
// Now.
[[nodiscard]] std::optional<CpuTimes> read_cpu_times(const CpuSet& cpus);

// Share of the time between two readings in which the CPUs had something to do, 0 to 1; nothing where no time
// has passed.
[[nodiscard]] std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after);

// Busy share of each CPU between two readings of /proc/stat, by CPU number; 0 for CPUs that are not in both.
[[nodiscard]] std::vector<double> parse_load(std::string_view before, std::string_view after);

}  // namespace millrace::machine
