// The terminal view of `millrace top`.
#pragma once

#include "millrace/base/error/result.h"

#include <string>

namespace millrace::cli {

// Runs until q or a terminating signal. seconds: refresh interval. Failure if there is no daemon, if it ends,
// or if standard output is not a suitable terminal.
[[nodiscard]] Status show_top(const std::string& socket, double seconds);

}  // namespace millrace::cli
