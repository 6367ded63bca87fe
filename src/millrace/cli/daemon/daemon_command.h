// The verbs of the daemon and its clients: daemon, watch, unwatch, status, explain, pause, top.
#pragma once

#include "millrace/cli/command/command.h"

#include <string_view>

namespace millrace::cli {

void add_daemon_commands(CLI::App& app, Action& action);

}  // namespace millrace::cli
