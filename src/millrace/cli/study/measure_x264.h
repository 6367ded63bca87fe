// Measures what the study of x264 shows.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/comparison/x264_study.h"

#include <string>
#include <vector>

namespace millrace::cli {

struct EncoderRequest {
  std::vector<std::string> clips;  // none, or the small and the large one, as x264 reads them; else made
  int runs = 5;
  bool quick = false;
  bool progress = true;
};

// Failure where x264 is not there or fails; a class that is not permitted, or that the kernel lacks, is left
// out.
[[nodiscard]] Result<report::EncoderObservations> measure_x264(const EncoderRequest& request,
                                                               const machine::MachineReport& machine,
                                                               const Interrupt& interrupt);

}  // namespace millrace::cli
