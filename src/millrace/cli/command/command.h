// Verbs of the `millrace` program. Each adds itself to the command line; if the user gives the verb, its
// action runs.
#pragma once

#include "millrace/base/result.h"

#include <functional>

#include <CLI/CLI.hpp>

namespace millrace::cli {

// The work of a verb. Its Error becomes one line on standard error and the exit code.
using Action = std::function<Status()>;

}  // namespace millrace::cli
