// Scales the number of cases in randomised tests.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace millrace::stream {

// MILLRACE_SOAK=n runs n times the default number of cases.
inline std::uint32_t soaked(std::uint32_t cases) {
  const char* const text = std::getenv("MILLRACE_SOAK");
  if (!text) return cases;
  std::uint32_t times = 1;
  const std::string_view digits = text;
  std::from_chars(digits.data(), digits.data() + digits.size(), times);
  return times == 0 ? cases : times * cases;
}

}  // namespace millrace::stream
