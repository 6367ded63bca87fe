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
// Bytes that are in use once all of it was written, at most.
[[nodiscard]] std::size_t large_memory_bytes(std::size_t bytes);

}  // namespace millrace
