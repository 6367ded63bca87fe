// Reads and writes that continue until all bytes are transferred.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace {

// The result of a transfer.
struct Transfer {
  std::size_t bytes = 0;  // transferred
  int error = 0;          // error number that ended it early; 0 if it completed or a file ended
};

// Writes at the current position. For blocking descriptors.
[[nodiscard]] Transfer write_all(int descriptor, std::span<const std::byte> bytes);
// Regular files: at any offset, from any number of threads.
[[nodiscard]] Transfer write_all_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes);
[[nodiscard]] Transfer read_all_at(int descriptor, std::uint64_t offset, std::span<std::byte> destination);

}  // namespace millrace
