#include "millrace/base/text/byte_count.h"

#include <array>

#include <fmt/format.h>

namespace millrace {

std::string bytes_text(double bytes) {
  if (bytes < 1000) return fmt::format("{:.0f} bytes", bytes);
  constexpr std::array units{"kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  bytes /= 1000;
  // Values that would be rounded up to 1000 use the next unit.
  for (; bytes >= 999.95 && unit + 1 < units.size(); ++unit)
    bytes /= 1000;
  return fmt::format("{:.1f} {}", bytes, units[unit]);
}

}  // namespace millrace
