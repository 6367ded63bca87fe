// Formats a number together with its noun.
//
//   counted(1, "frame")                  "1 frame"
//   counted(3, "frame")                  "3 frames"
//   counted(2, "process", "processes")   "2 processes"
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace millrace {

// plural: only needed if it is not the noun plus "s".
template <std::integral Count>
[[nodiscard]] std::string counted(Count count, std::string_view noun, std::string_view plural = "") {
  if (count == 1) return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, plural);
}

}  // namespace millrace
