// Locates helper programs and shared objects of this project.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace millrace {

// The path of a program that ships with this program or shared library. The program is in the installation's
// folder for internal programs, or in the same folder in a build tree. The path is returned even if the file
// does not exist. It is empty if the location of this code is unknown; an empty path cannot be started. Asks
// the system on each call. Thread-safe.
[[nodiscard]] std::filesystem::path companion_program(std::string_view name);

// Whether this code is in a shared library, such as libmillrace, that another program has loaded.
[[nodiscard]] bool in_shared_library();

// The folders that may contain shared objects that this program or shared library opens: the installation's
// folder for them, then the folder of this program or library, as in a build tree and in a Python package.
// Never the current folder. Empty if the location of this code is unknown. Thread-safe.
[[nodiscard]] std::vector<std::filesystem::path> companion_library_folders();

}  // namespace millrace
