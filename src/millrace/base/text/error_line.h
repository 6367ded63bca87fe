// Error messages of programs.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/text/print.h"
#include "millrace/base/text/printable.h"

#include <string_view>

namespace millrace {

// Prints "PROGRAM: MESSAGE" to standard error with print_note(). Always one line, even if the message
// contains unusual file names.
inline void print_error(std::string_view program, std::string_view message) {
  print_note("{}: {}\n", program, printable(message));
}

// Prints the error and returns the program's exit code.
[[nodiscard]] inline int report_error(std::string_view program, const Error& error) {
  print_error(program, error.message);
  return exit_code(error);
}

}  // namespace millrace
