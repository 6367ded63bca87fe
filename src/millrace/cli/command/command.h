// A verb of the `millrace` program adds itself to the command line; what it then does is called when its
// words are there.
#pragma once

#include "millrace/base/result.h"

#include <functional>

#include <CLI/CLI.hpp>

namespace millrace::cli {

// What a verb does; its Error becomes one line on standard error and the exit code.
using Action = std::function<Status()>;

}  // namespace millrace::cli
