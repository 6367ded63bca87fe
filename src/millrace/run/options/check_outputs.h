// Checks the files that a run will write.
#pragma once

#include "millrace/run/options/run_options.h"

namespace millrace::run {

// Call before anything is written. Checks that all outputs are distinct and writable. Usage error if no
// output is given, if it would be a terminal (see millrace::check_outputs()), or if one file could be a
// numbered picture of another output.
[[nodiscard]] Status check_outputs(const RunOptions& options);

}  // namespace millrace::run
