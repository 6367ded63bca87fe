// The options of `millrace run` by name.
#pragma once

#include "millrace/base/result.h"
#include "millrace/run/words/run_options.h"

#include <string_view>

namespace millrace::api {

// As the command line reads --NAME VALUE; of flags, "true" or "false". What a word means is told later, where
// the words are read together. Usage error that names the options there are, or what a value may be.
[[nodiscard]] Status set_option(run::RunOptions& options, std::string_view name, std::string_view value);

}  // namespace millrace::api
