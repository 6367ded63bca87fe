// Division of a range into contiguous parts of nearly equal length.
#pragma once

#include <cstdint>

namespace millrace::pool {

struct Part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Part `index` of [0, length) cut into `parts`: lengths differ by at most one, the longer parts come first.
// length >= 0, 0 <= index < parts. Does not overflow for any length.
[[nodiscard]] constexpr Part contiguous_part(std::int64_t length, std::int64_t parts, std::int64_t index) {
  const std::int64_t short_length = length / parts;
  const std::int64_t longer_parts = length % parts;
  const std::int64_t begin = index * short_length + (index < longer_parts ? index : longer_parts);
  return {begin, begin + short_length + (index < longer_parts ? 1 : 0)};
}

}  // namespace millrace::pool
