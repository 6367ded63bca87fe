// What threads cost on this machine.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/report/comparison/placement_gain.h"

namespace millrace::cli {

// Medians of some hundred times, in some milliseconds. Of one CPU there is no migration: 0. Failure where no
// thread may be made.
[[nodiscard]] Result<report::ThreadCosts> measure_thread_costs(const machine::CpuSet& cpus);

}  // namespace millrace::cli
