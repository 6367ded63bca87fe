// Memory for pixels: large, written soon, and walked through.
#pragma once

#include <cstddef>

namespace millrace {

// Uninitialised; free() returns it. Aligned to a cache line. Of what is large, huge pages are asked for
// (where the system grants them to who asks, which most do): the system faults it in at a sixth of the cost,
// 512 small pages at once, and processors find their way in it sooner. Null where memory is out. Thread-safe.
// Where the process's address space is limited (RLIMIT_AS), for which huge pages need more, none are asked
// for.
[[nodiscard]] void* allocate_large(std::size_t bytes);
struct Blocks {
  std::size_t count;
  std::size_t each;  // bytes from one to the next, so that all are aligned
};
// Of blocks of so many bytes each, of which some are needed: how many are better allocated at once, to share
// a huge page. 1: each for itself, as it is large, or so small that some small pages hold all that is needed.
[[nodiscard]] Blocks blocks_together(std::size_t bytes);
// Bytes that are in use once all of it was written, at most.
[[nodiscard]] std::size_t large_memory_bytes(std::size_t bytes);

}  // namespace millrace
