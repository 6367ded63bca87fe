// `millrace cut` and `millrace node`: a pipeline in sections on several machines, for a stream that one
// cannot hold.
#pragma once

#include "millrace/cli/command/command.h"

namespace millrace::cli {

void add_cut_commands(CLI::App& app, Action& action);

}  // namespace millrace::cli
