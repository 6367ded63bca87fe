// What is asked of the files that a run is to write.
#pragma once

#include "millrace/run/words/run_options.h"

namespace millrace::run {

// Before anything is written: whether each thing the run writes has a place of its own that it may write to.
// Usage errors where no output is given or a terminal would be it, as of millrace::check_outputs(), and where
// a file may be a picture of another one's.
[[nodiscard]] Status check_outputs(const RunOptions& options);

}  // namespace millrace::run
