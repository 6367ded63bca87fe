// `millrace split` and `millrace node`: a live split, which spreads a pipeline over several machines if one
// is too slow for the stream.
#pragma once

#include "millrace/cli/command/command.h"

namespace millrace::cli {

void add_split_commands(CLI::App& app, Action& action);

}  // namespace millrace::cli
