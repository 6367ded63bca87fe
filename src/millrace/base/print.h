// What programs print. Never throws for a terminal, pipe or disk that takes no more: a window that is closed
// must not end the work behind it.
#pragma once

#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace {

// To standard output. That it could not be written is kept in ferror(stdout), by which run_guarded() ends the
// program as failed.
template <class... Args> void print_out(fmt::format_string<Args...> format, Args&&... args) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
}

// To standard error, at once. Where that takes nothing, nobody is told: no reason to end otherwise.
template <class... Args> void print_note(fmt::format_string<Args...> format, Args&&... args) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace millrace
