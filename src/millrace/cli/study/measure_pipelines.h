// Measures what the studies of the pipeline paper show: runs millrace-similar and millrace-dedup.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/comparison/pipeline_studies.h"

#include <string>
#include <vector>

namespace millrace::cli {

struct PipelineRequest {
  std::vector<report::PipelineStudy> studies;
  std::string photos;    // a folder of images; made where empty
  std::string stream;    // a file to pack; made where empty
  std::string programs;  // the folder of the programs; see find_program()
  int runs = 5;          // of each setting; they take turns
  bool quick = false;
  bool progress = true;
};

// Service times first, by one thread on one CPU, then every setting in turns. Failure that names the program.
[[nodiscard]] Result<report::PipelineObservations> measure_pipelines(const PipelineRequest& request,
                                                                     const machine::MachineReport& machine,
                                                                     const Interrupt& interrupt);

}  // namespace millrace::cli
