// How long the tests that try many cases go on.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace millrace::stream {

// MILLRACE_SOAK=n tries n times as many cases as the tests try by themselves.
inline std::uint32_t soaked(std::uint32_t cases) {
  const char* const text = std::getenv("MILLRACE_SOAK");
  if (!text) return cases;
  std::uint32_t times = 1;
  const std::string_view digits = text;
  std::from_chars(digits.data(), digits.data() + digits.size(), times);
  return times == 0 ? cases : times * cases;
}

}  // namespace millrace::stream
