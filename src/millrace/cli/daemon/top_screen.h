// The terminal view of `millrace top`.
#pragma once

#include "millrace/base/result.h"

#include <string>

namespace millrace::cli {

// Until q, or a signal that ends programs. seconds: between two pictures. Failure where there is no daemon,
// or it ends, or standard output is no terminal that can be drawn on.
[[nodiscard]] Status show_top(const std::string& socket, double seconds);

}  // namespace millrace::cli
