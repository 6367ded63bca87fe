// Turns what Halide throws into Errors:
//
//   return without_halide_errors([&]() -> Result<Object> { return compiled(pipeline); });
//
// Halide's exceptions are no std::exception, so that a program that catches only those is aborted.
#pragma once

#include "millrace/base/error/result.h"

#include <Halide.h>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

namespace millrace::image {

// Halide's messages have several lines and can quote whole kernels.
[[nodiscard]] inline std::string in_one_line(std::string_view message) {
  constexpr std::size_t most = 300;
  std::string line;
  for (const char c : message) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
    if (line.size() > most) return line.substr(0, most) + "...";
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

// The without_exceptions() of base does not catch what Halide throws, and keeps messages of several lines.
template <class Compile>
[[nodiscard]] std::invoke_result_t<Compile&> without_halide_errors(Compile&& compile) {
  try {
    return compile();
  } catch (const Halide::Error& error) {
    return failure("{}", in_one_line(error.what()));
  } catch (const std::exception& error) {
    return failure("{}", in_one_line(error.what()));
  }
}

}  // namespace millrace::image
