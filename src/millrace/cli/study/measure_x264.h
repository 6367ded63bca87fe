// Measures the study of x264.
#pragma once

#include "millrace/base/process/interrupt.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/comparison/x264_study.h"

#include <string>
#include <vector>

namespace millrace::cli {

struct EncoderRequest {
  std::vector<std::string> clips;  // none, or the small and the large clip, in a format that x264 reads;
                                   // generated if empty
  int runs = 5;
  bool quick = false;
  bool progress = true;
};

// Failure if x264 is missing or fails. A scheduling class that is not permitted, or that the kernel lacks, is
// left out.
[[nodiscard]] Result<report::EncoderObservations> measure_x264(const EncoderRequest& request,
                                                               const machine::MachineReport& machine,
                                                               const Interrupt& interrupt);

}  // namespace millrace::cli
