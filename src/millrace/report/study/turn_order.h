// Who of several settings that are measured by turns has which turn.
#pragma once

#include <cstddef>

namespace millrace::report {

// Who of `count` has the i-th turn of a round in which each has one. In 2 * count rounds each has every turn
// twice, and follows either of its neighbours as often as it is followed by it.
[[nodiscard]] constexpr std::size_t whose_turn(std::size_t i, int round, std::size_t count) {
  const std::size_t turn = (i + static_cast<std::size_t>(round / 2)) % count;
  return round % 2 == 1 ? count - 1 - turn : turn;
}

}  // namespace millrace::report
