// Programs that others of this project start.
#pragma once

#include <filesystem>
#include <string_view>

namespace millrace {

// The path of a program that belongs to this program, or to the shared library of which this code is a part:
// where an installation puts what users do not call, else beside it, as a build leaves them, whether it is
// there or not; empty, which cannot be started, where the place of this code is not known. Asks the system
// each time. Thread-safe.
[[nodiscard]] std::filesystem::path companion_program(std::string_view name);

}  // namespace millrace
