// completion_script: completes command lines in a shell, from the definitions of the options.
//
//   print_out("{}", completion_script(app, "millrace", "bash"));
#pragma once

#include "millrace/base/options/option_values.h"

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace millrace {

// bash, zsh, fish.
[[nodiscard]] const OptionWords& completion_shells();

// The script of `program` for one of these shells. It completes verbs, options, and values: words, stages of
// a pipeline, files, folders, programs.
[[nodiscard]] std::string completion_script(CLI::App& app, std::string_view program, std::string_view shell);

}  // namespace millrace
