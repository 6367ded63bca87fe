// The studies whose page is a comparison with a paper: which there are, and how one comes about.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/base/result.h"
#include "millrace/report/comparison/comparison.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace::cli {

struct ComparisonRequest {
  std::vector<std::string> names;  // of studies, or of groups of them
  std::vector<std::string> clips;  // of x264, the small and the large one; made where there are none
  std::string photos;              // of the image search; made where empty
  std::string stream;              // to be packed; made where empty
  std::string programs;            // the folder of the programs that are run; see find_program()
  std::optional<int> runs;         // of each setting
  bool quick = false;
  bool progress = true;
};

// Whether a word names one of these studies, or a group of them.
[[nodiscard]] bool is_comparison(const std::string& name);

// Usage error that lists the names for one that is none of these; else what keeps a program from being run,
// and interrupted.
[[nodiscard]] Result<report::ComparisonPage> measure_comparisons(const ComparisonRequest& request,
                                                                 const Interrupt& interrupt);

}  // namespace millrace::cli
