#pragma once

#include "millrace/cli/command/command.h"
#include "millrace/placement/birth/ignored_signals.h"

namespace millrace::cli {

// ignored_signals: as at the start of this process; the started program inherits them.
void add_exec_command(CLI::App& app, Action& action, const placement::IgnoredSignals& ignored_signals);

}  // namespace millrace::cli
