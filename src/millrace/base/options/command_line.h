// Command lines of all programs: options, --help, errors of usage, shell completion.
//
//   CLI::App app("Store images without duplicates");
//   app.add_subcommand("pack", "Pack a file");
//   if (const auto end = read_command_line(app, argc, argv, "millrace-dedup")) return *end;
#pragma once

#include "millrace/base/options/option_values.h"

#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

namespace millrace {

// Parses the arguments into `app`. Returns the exit code if the program must end now: 0 if only help, a
// version or a completion script was requested, or 2 after a one-line error. The error names the wrong word,
// says what to do, and points to the help of the verb.
//
// Every program with verbs has the hidden verb `completion SHELL`.
[[nodiscard]] std::optional<int> read_command_line(CLI::App& app, int argc, char** argv,
                                                   std::string_view program);

}  // namespace millrace
