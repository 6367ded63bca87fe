// How programs tell what went wrong.
#pragma once

#include "millrace/base/print.h"
#include "millrace/base/printable.h"
#include "millrace/base/result.h"

#include <string_view>

namespace millrace {

// "PROGRAM: MESSAGE" as one line on standard error, whatever names of files the message holds, as
// print_note() prints it.
inline void print_error(std::string_view program, std::string_view message) {
  print_note("{}: {}\n", program, printable(message));
}

// The same; the program's exit code.
[[nodiscard]] inline int report_error(std::string_view program, const Error& error) {
  print_error(program, error.message);
  return exit_code(error);
}

}  // namespace millrace
