// Measures the costs of threads on this machine.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/report/comparison/placement_gain.h"

namespace millrace::cli {

// Medians of some hundred measurements; takes some milliseconds. With one CPU the cost of a migration is 0.
// Failure if no thread can be created.
[[nodiscard]] Result<report::ThreadCosts> measure_thread_costs(const machine::CpuSet& cpus);

}  // namespace millrace::cli
