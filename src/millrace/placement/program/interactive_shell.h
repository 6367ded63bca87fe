// InteractiveShell: tells shells that a person types commands into from shells that run a script.
#pragma once

#include <string>
#include <vector>

namespace millrace::placement {

// Whether `command` starts a shell that takes its commands from the terminal, as in {"bash", "-l"} but not
// {"bash", "-c", "make"} or {"sh", "build.sh"}. reads_terminal: its standard input is a terminal.
[[nodiscard]] bool is_interactive_shell(const std::vector<std::string>& command, bool reads_terminal);

}  // namespace millrace::placement
