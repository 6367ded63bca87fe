// Studies whose page is a comparison with a paper: lists and runs them.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/report/comparison/comparison.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace::cli {

struct ComparisonRequest {
  std::vector<std::string> names;  // of studies, or of groups of studies
  // For x264, the small and the large clip; for decoders, the sources of their streams. Generated if empty.
  std::vector<std::string> clips;
  std::string photos;       // for the image search; generated if empty
  std::string stream;       // to pack; generated if empty
  std::string programs;     // folder of the programs to run; see find_program()
  std::optional<int> runs;  // per setting
  bool quick = false;
  bool progress = true;
};

// Whether a word names one of these studies, or a group of them.
[[nodiscard]] bool is_comparison(const std::string& name);

// Whether one of these studies uses clips that the user may supply.
[[nodiscard]] bool shows_clips(const std::vector<std::string>& names);

// `names` must be comparisons. Failure if a program cannot be run or the study is interrupted.
[[nodiscard]] Result<report::ComparisonPage> measure_comparisons(const ComparisonRequest& request,
                                                                 const Interrupt& interrupt);

}  // namespace millrace::cli
