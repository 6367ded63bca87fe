#pragma once

#include "millrace/cli/command/command.h"

namespace millrace::cli {

void add_report_command(CLI::App& app, Action& action);

}  // namespace millrace::cli
