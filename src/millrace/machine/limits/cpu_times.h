// CPU load, caused by any process.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace::machine {

// Ticks of the kernel since boot. Waiting for a disk does not count as busy.
struct CpuTimes {
  std::int64_t busy = 0;
  std::int64_t all = 0;
};

// The sum over `cpus` in the content of /proc/stat; nothing if it lists none of them. Pure.
[[nodiscard]] std::optional<CpuTimes> parse_cpu_times(std::string_view stat, const CpuSet& cpus);
// Reads the current times.
[[nodiscard]] std::optional<CpuTimes> read_cpu_times(const CpuSet& cpus);

// The share of time between two readings in which the CPUs were busy, 0 to 1. Nothing if no time has passed.
[[nodiscard]] std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after);

// Busy share per CPU number between two readings of /proc/stat. 0 for CPUs that are missing from either.
[[nodiscard]] std::vector<double> parse_load(std::string_view before, std::string_view after);

}  // namespace millrace::machine
