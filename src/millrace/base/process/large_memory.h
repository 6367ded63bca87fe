// Memory for pixels: large blocks that are written soon and read sequentially.
#pragma once

#include <cstddef>

namespace millrace {

// Uninitialised and aligned to a cache line; release it with free(). Large blocks request huge pages, which
// most systems grant on request. That cuts page-fault cost to a sixth (one fault maps 512 small pages) and
// reduces TLB misses. No huge pages are requested under an address-space limit (RLIMIT_AS), because they need
// more address space. Returns null if memory is exhausted. Thread-safe.
[[nodiscard]] void* allocate_large(std::size_t bytes);
struct Blocks {
  std::size_t count;
  std::size_t each;  // bytes from one block to the next, keeping all aligned
};
// How many blocks of this size to allocate together so that they share a huge page. A count of 1 means
// separate allocations: the block is large itself, or so small that a few small pages hold all blocks.
[[nodiscard]] Blocks blocks_together(std::size_t bytes);
// Upper bound of the resident bytes after the whole block has been written.
[[nodiscard]] std::size_t large_memory_bytes(std::size_t bytes);

}  // namespace millrace
