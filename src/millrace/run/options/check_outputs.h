// Checks the files that a run will write.
#pragma once

#include "millrace/base/file/check_outputs.h"
#include "millrace/run/options/run_options.h"

#include <string>

namespace millrace::run {

// The file that `pipeline` is read from; without a path if it is read from none. See image::load_pipeline().
[[nodiscard]] NamedPath pipeline_file(const std::string& pipeline);

// Call before anything is written. Checks that all outputs are distinct and writable,
// and that none is an input or the pipeline's file. Usage error if no
// output is given, if it would be a terminal (see millrace::check_outputs()), or if one file could be a
// numbered picture of another output.
[[nodiscard]] Status check_outputs(const RunOptions& options);

}  // namespace millrace::run
