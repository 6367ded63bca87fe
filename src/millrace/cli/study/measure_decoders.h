// Measures what the studies of the UDispatch+ paper on decoders show: runs ffmpeg and dav1d.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/comparison/decoder_study.h"

#include <string>
#include <vector>

namespace millrace::cli {

struct DecoderRequest {
  std::vector<report::DecoderStudy> studies;
  std::vector<std::string> clips;  // what the streams are made of; none: test pictures
  std::string programs;            // see find_program()
  int executions = 20;             // of each setting; they take turns
  bool quick = false;              // two short streams
  bool progress = true;
};

// Usage error that says what to install where ffmpeg is missing, or cannot encode; a missing dav1d is left
// out and named.
[[nodiscard]] Result<report::DecoderObservations> measure_decoders(const DecoderRequest& request,
                                                                   const machine::MachineReport& machine,
                                                                   const Interrupt& interrupt);

}  // namespace millrace::cli
