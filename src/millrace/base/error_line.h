// How programs tell what went wrong.
#pragma once

#include "millrace/base/printable.h"
#include "millrace/base/result.h"

#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace millrace {

// "PROGRAM: MESSAGE" as one line on standard error, whatever names of files the message holds. Where standard
// error takes nothing, nobody is told: no reason to end otherwise.
inline void print_error(std::string_view program, std::string_view message) {
  const std::string line = fmt::format("{}: {}\n", program, printable(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// The same; the program's exit code.
[[nodiscard]] inline int report_error(std::string_view program, const Error& error) {
  print_error(program, error.message);
  return exit_code(error);
}

}  // namespace millrace
