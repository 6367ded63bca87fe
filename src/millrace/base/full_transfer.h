// Reads and writes that go on until all is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace {

// What became of one.
struct Transfer {
  std::size_t bytes = 0;  // done
  int error = 0;          // why not all, as an error number; 0 where all is done or a file ended
};

// Writes at the descriptor's position; for descriptors that make a writer wait rather than refuse.
[[nodiscard]] Transfer write_all(int descriptor, std::span<const std::byte> bytes);
// Regular files: anywhere, from any number of threads.
[[nodiscard]] Transfer write_all_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes);
[[nodiscard]] Transfer read_all_at(int descriptor, std::uint64_t offset, std::span<std::byte> destination);

}  // namespace millrace
