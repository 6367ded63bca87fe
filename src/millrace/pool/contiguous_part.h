// Divides a range into contiguous parts of nearly equal length.
#pragma once

#include <cstdint>

namespace millrace::pool {

struct Part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Part `index` of [0, length) divided into `parts`. Lengths differ by at most one; longer parts come first.
// Requires length >= 0 and 0 <= index < parts. Never overflows.
[[nodiscard]] constexpr Part contiguous_part(std::int64_t length, std::int64_t parts, std::int64_t index) {
  const std::int64_t short_length = length / parts;
  const std::int64_t longer_parts = length % parts;
  const std::int64_t begin = index * short_length + (index < longer_parts ? index : longer_parts);
  return {begin, begin + short_length + (index < longer_parts ? 1 : 0)};
}

}  // namespace millrace::pool
