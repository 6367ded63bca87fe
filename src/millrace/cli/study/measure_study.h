// Measures the data for the figures of a study.
#pragma once

#include "millrace/base/process/interrupt.h"
#include "millrace/report/study/study_result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::cli {

struct StudyRequest {
  std::vector<report::Figure> figures;
  std::vector<std::string> inputs;  // clips that replace the paper's; missing ones are generated
  int runs = 30;
  std::optional<std::int64_t> frames;  // per run
  std::optional<int> threads;          // maximum
  bool quick = false;                  // tiny frames, few runs
  bool progress = true;                // on standard error, if that is a terminal
};

// Interleaves the cases: each run goes once through all cases of a pipeline and input. Usage error if the
// request is impossible here; can be interrupted at any time.
[[nodiscard]] Result<report::StudyResult> measure_study(const StudyRequest& request,
                                                        const Interrupt& interrupt);

}  // namespace millrace::cli
