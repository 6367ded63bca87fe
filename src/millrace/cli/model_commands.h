// The verbs that predict runs instead of making them.
#pragma once

#include "millrace/cli/commands.h"

namespace millrace::cli {

void add_model_command(CLI::App& app, Action& action);
void add_simulate_command(CLI::App& app, Action& action);

}  // namespace millrace::cli
