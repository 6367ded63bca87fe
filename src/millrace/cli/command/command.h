// Verbs of the `millrace` program. Each adds itself to the command line; if the user gives the verb, its
// action runs.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/options/option_values.h"

#include <functional>

#include <CLI/CLI.hpp>

namespace millrace::cli {

// The work of a verb. Its Error becomes one line on standard error and the exit code.
using Action = std::function<Status()>;

// Headings of `millrace --help`, in this order.
namespace verb_group {
inline constexpr const char* video = "Video";
inline constexpr const char* programs = "Programs";
inline constexpr const char* streams = "Streams and models";
inline constexpr const char* machine = "Machine and measurements";
}  // namespace verb_group

// The next options of the verb are listed under this heading. The first heading is "Options": the five that
// most people need first.
inline void begin_group(CLI::App& verb, const char* heading) { verb.option_defaults()->group(heading); }

}  // namespace millrace::cli
