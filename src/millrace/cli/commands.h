// The verbs of the `millrace` program. Each adds itself to the command line; what it then does is called when
// its words are there.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/ignored_signals.h"

#include <functional>

#include <CLI/CLI.hpp>

namespace millrace::cli {

// What a verb does; its Error becomes one line on standard error and the exit code.
using Action = std::function<Status()>;

void add_run_command(CLI::App& app, Action& action);
// ignored_signals: as this process found them when it began; the program that is run inherits them.
void add_exec_command(CLI::App& app, Action& action, const placement::IgnoredSignals& ignored_signals);
void add_machine_command(CLI::App& app, Action& action);
void add_filters_command(CLI::App& app, Action& action);
void add_profiles_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);

}  // namespace millrace::cli
