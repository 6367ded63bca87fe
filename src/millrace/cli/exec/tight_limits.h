// Limits under which `millrace exec` does not follow a program, but becomes it.
#pragma once

#include <string>

namespace millrace::cli {

// What is too little here to follow a program beside it, as "12 MiB of address space"; "" where nothing is.
// A program that fits in takes part in the same limits: millrace must not be what it ends by.
[[nodiscard]] std::string too_little_to_follow();

// The place of the program's name in the arguments of `millrace exec`, behind the first "--"; 0: there is
// none, as where a process is joined.
[[nodiscard]] int program_in(int count, char** arguments);

}  // namespace millrace::cli
