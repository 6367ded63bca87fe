// Measures the UDispatch+ paper's studies by running millrace-skipline.
#pragma once

#include "millrace/base/process/interrupt.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/comparison/dispatch_study.h"

#include <string>
#include <vector>

namespace millrace::cli {

struct DispatchRequest {
  std::vector<report::DispatchStudy> studies;
  std::string programs;  // see find_program()
  int executions = 100;  // per setting; settings take turns
  bool progress = true;
};

[[nodiscard]] Result<report::DispatchObservations> measure_dispatch(const DispatchRequest& request,
                                                                    const machine::MachineReport& machine,
                                                                    const Interrupt& interrupt);

}  // namespace millrace::cli
