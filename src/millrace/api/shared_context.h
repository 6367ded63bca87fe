// The execution context that all runs of a process's callers share.
#pragma once

#include "millrace/machine/report/machine_report.h"
#include "millrace/run/video/execution_context.h"

#include <memory>

namespace millrace::api {

struct SharedContext {
  machine::MachineReport machine;
  std::unique_ptr<run::ExecutionContext> context;  // usable by several runs at the same time
};

// Returns the existing context, or creates one with as many threads as the process may use now. The last
// owner frees it. Thread-safe.
[[nodiscard]] Result<std::shared_ptr<const SharedContext>> shared_context();

}  // namespace millrace::api
