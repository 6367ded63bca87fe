// `millrace plan`, `millrace chunk`, `millrace join`: divide a run among any number of machines.
#pragma once

#include "millrace/cli/command/command.h"

namespace millrace::cli {

void add_cluster_commands(CLI::App& app, Action& action);

}  // namespace millrace::cli
