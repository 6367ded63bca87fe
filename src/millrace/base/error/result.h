// Result<T>: how modules report failure to each other. No exception crosses a module boundary.
#pragma once

#include <csignal>
#include <expected>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace millrace {

// Tells who has to act on an error. Determines the program's exit code.
enum class ErrorKind {
  usage,        // the user asked for something impossible; exit code 2
  failure,      // the work itself failed; exit code 1
  incomplete,   // parts of the work are missing or damaged, and can be made again; exit code 3
  ended,        // the thread or process that it is about has ended; exit code 1
  interrupted,  // a signal requested the stop; exit code 128 plus its number, as in shells
};

// One line for a person. It names the problem and what to do about it.
struct Error {
  ErrorKind kind = ErrorKind::failure;
  std::string message;
  int signal = SIGINT;  // for `interrupted`; Interrupt::told() sets it
};

template <class T> using Result = std::expected<T, Error>;
using Status = Result<void>;

template <class... Args>
[[nodiscard]] std::unexpected<Error> usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{ErrorKind::usage, fmt::format(format, std::forward<Args>(args)...)});
}

template <class... Args>
[[nodiscard]] std::unexpected<Error> failure(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{ErrorKind::failure, fmt::format(format, std::forward<Args>(args)...)});
}

[[nodiscard]] inline int exit_code(const Error& error) {
  switch (error.kind) {
  case ErrorKind::usage:
    return 2;
  case ErrorKind::failure:
  case ErrorKind::ended:
    return 1;
  case ErrorKind::incomplete:
    return 3;
  case ErrorKind::interrupted:
    return 128 + error.signal;
  }
  return 1;
}

}  // namespace millrace
