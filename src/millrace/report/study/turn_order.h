// The order in which interleaved settings are measured.
#pragma once

#include <cstddef>

namespace millrace::report {

// The setting (of `count`) that has the i-th turn of a round. Each has one turn per round. In 2 * count
// rounds each setting has every turn twice, and follows either of its neighbours as often as it precedes it.
[[nodiscard]] constexpr std::size_t whose_turn(std::size_t i, int round, std::size_t count) {
  const std::size_t turn = (i + static_cast<std::size_t>(round / 2)) % count;
  return round % 2 == 1 ? count - 1 - turn : turn;
}

}  // namespace millrace::report
