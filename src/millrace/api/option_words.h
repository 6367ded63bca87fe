// Sets options of `millrace run` by name.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/run/options/run_options.h"

#include <string_view>

namespace millrace::api {

// Reads a value as the command line reads --NAME VALUE; flags take "true" or "false". Values that depend on
// each other are checked later, together. A usage error lists the option names, or the allowed values.
[[nodiscard]] Status set_option(run::RunOptions& options, std::string_view name, std::string_view value);

}  // namespace millrace::api
