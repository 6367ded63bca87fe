// The execution context that all runs of a process's callers share.
#pragma once

#include "millrace/machine/report/machine_report.h"
#include "millrace/run/video/workplace.h"

#include <memory>

namespace millrace::api {

struct SharedWorkplace {
  machine::MachineReport machine;
  std::unique_ptr<run::Workplace> workplace;  // usable by several runs at the same time
};

// Returns the existing context, or creates one with as many threads as the process may use now. The last
// owner frees it. Thread-safe.
[[nodiscard]] Result<std::shared_ptr<const SharedWorkplace>> shared_workplace();

}  // namespace millrace::api
