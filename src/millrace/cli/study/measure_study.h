// Measures what the figures of a study show.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/report/study/study_result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::cli {

struct StudyRequest {
  std::vector<report::Figure> figures;
  std::vector<std::string> inputs;  // clips in the place of the paper's; what is not given is generated
  int runs = 30;
  std::optional<std::int64_t> frames;  // in a run
  std::optional<int> threads;          // at most
  bool quick = false;                  // tiny frames, few runs
  bool progress = true;                // on standard error, where that is a terminal
};

// Takes turns: each run goes once through all cases of a pipeline and input. Of usage kind where what is
// asked for is impossible here; interrupted, at any time.
[[nodiscard]] Result<report::StudyResult> measure_study(const StudyRequest& request,
                                                        const Interrupt& interrupt);

}  // namespace millrace::cli
