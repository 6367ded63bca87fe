// Detects limits so tight that `millrace exec` must replace itself by the program instead of following it.
#pragma once

#include <string>

namespace millrace::cli {

// The resource that is too scarce for following a program, for example "12 MiB of address space"; "" if there
// is none. The program shares the limits with millrace and must not fail because of it.
[[nodiscard]] std::string too_little_to_follow();

// Index of the program's name in the arguments of `millrace exec`, after the first "--"; 0 if there is none,
// for example when joining a process.
[[nodiscard]] int program_in(int count, char** arguments);

}  // namespace millrace::cli
