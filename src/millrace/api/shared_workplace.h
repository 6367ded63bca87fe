// The one Workplace of a process, for all runs that callers of the library have under way.
#pragma once

#include "millrace/machine/report/machine_report.h"
#include "millrace/run/video/workplace.h"

#include <memory>

namespace millrace::api {

struct SharedWorkplace {
  machine::MachineReport machine;
  std::unique_ptr<run::Workplace> workplace;  // for several runs at the same time
};

// The one that is there, else a new one, with as many threads as the process may use now; it goes with the
// last who holds it. Thread-safe.
[[nodiscard]] Result<std::shared_ptr<const SharedWorkplace>> shared_workplace();

}  // namespace millrace::api
