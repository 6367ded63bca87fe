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
  // Of x264, the small and the large one; of decoders, what their streams are made of. Made where there are
  // none.
  std::vector<std::string> clips;
  std::string photos;       // of the image search; made where empty
  std::string stream;       // to be packed; made where empty
  std::string programs;     // the folder of the programs that are run; see find_program()
  std::optional<int> runs;  // of each setting
  bool quick = false;
  bool progress = true;
};

// Whether a word names one of these studies, or a group of them.
[[nodiscard]] bool is_comparison(const std::string& name);

// Whether one of these studies is made of clips that the user may give.
[[nodiscard]] bool shows_clips(const std::vector<std::string>& names);

// Of names that are comparisons. Fails where a program cannot be run, and where it is interrupted.
[[nodiscard]] Result<report::ComparisonPage> measure_comparisons(const ComparisonRequest& request,
                                                                 const Interrupt& interrupt);

}  // namespace millrace::cli
