// `millrace simulate cluster`
#pragma once

#include "millrace/cli/command/command.h"

namespace millrace::cli {

void add_simulate_cluster(CLI::App& simulate, Action& action);

}  // namespace millrace::cli
