// `millrace simulate placement`: threads that share execution units and caches of a machine.
#pragma once

#include "millrace/cli/command/command.h"

namespace millrace::cli {

void add_simulate_placement(CLI::App& simulate, Action& action);

}  // namespace millrace::cli
