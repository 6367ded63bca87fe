// Measures the UDispatch+ paper's studies of decoders by running ffmpeg and dav1d.
#pragma once

#include "millrace/base/process/interrupt.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/comparison/decoder_study.h"

#include <string>
#include <vector>

namespace millrace::cli {

struct DecoderRequest {
  std::vector<report::DecoderStudy> studies;
  std::vector<std::string> clips;  // sources of the streams; if empty, test pictures
  std::string programs;            // see find_program()
  int executions = 20;             // per setting; settings take turns
  bool quick = false;              // two short streams
  bool progress = true;
};

// If ffmpeg is missing or cannot encode, the usage error says what to install. A missing dav1d is left out
// and named.
[[nodiscard]] Result<report::DecoderObservations> measure_decoders(const DecoderRequest& request,
                                                                   const machine::MachineReport& machine,
                                                                   const Interrupt& interrupt);

}  // namespace millrace::cli
