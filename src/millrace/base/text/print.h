// Printing for programs. Never throws if a terminal, pipe or disk accepts no more: closing a window must not
// end the work.
#pragma once

#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace {

// Prints to standard output. A failed write sets ferror(stdout), which makes run_guarded() return a failure.
template <class... Args> void print_out(fmt::format_string<Args...> format, Args&&... args) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
}

// Prints to standard error and flushes. Failures are ignored.
template <class... Args> void print_note(fmt::format_string<Args...> format, Args&&... args) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace millrace
