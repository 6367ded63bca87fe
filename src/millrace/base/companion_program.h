// Programs that others of this project start.
#pragma once

#include <filesystem>
#include <string_view>

namespace millrace {

// The path of a program that belongs to this program, or to the shared library of which this code is a part:
// beside it, as a build leaves them, else where an installation puts what users do not call. Beside it where
// there is none. Asks the system each time.
[[nodiscard]] std::filesystem::path companion_program(std::string_view name);

}  // namespace millrace
