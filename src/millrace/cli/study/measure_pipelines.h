// Measures the pipeline paper's studies by running millrace-similar and millrace-dedup.
#pragma once

#include "millrace/base/process/interrupt.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/comparison/pipeline_studies.h"

#include <string>
#include <vector>

namespace millrace::cli {

struct PipelineRequest {
  std::vector<report::PipelineStudy> studies;
  std::string photos;    // folder of images; generated if empty
  std::string stream;    // file to pack; generated if empty
  std::string programs;  // folder of the programs; see find_program()
  int runs = 5;          // per setting; settings take turns
  bool quick = false;
  bool progress = true;
};

// Measures service times first, with one thread on one CPU, then all settings in turns. A failure names the
// program.
[[nodiscard]] Result<report::PipelineObservations> measure_pipelines(const PipelineRequest& request,
                                                                     const machine::MachineReport& machine,
                                                                     const Interrupt& interrupt);

}  // namespace millrace::cli
