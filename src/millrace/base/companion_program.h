// Locates helper programs of this project.
#pragma once

#include <filesystem>
#include <string_view>

namespace millrace {

// The path of a program that ships with this program or shared library. The program is in the installation's
// folder for internal programs, or in the same folder in a build tree. The path is returned even if the file
// does not exist. It is empty if the location of this code is unknown; an empty path cannot be started. Asks
// the system on each call. Thread-safe.
[[nodiscard]] std::filesystem::path companion_program(std::string_view name);

}  // namespace millrace
