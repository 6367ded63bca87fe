#include "millrace/base/process/large_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>
#include <sys/resource.h>

namespace millrace {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// The bytes to cover with huge pages. The tail is included unless that wastes much memory.
std::size_t in_huge_pages(std::size_t bytes) {
  constexpr std::size_t most_unused_percent = 35;  // of the allocation; a frame of 1280x720 leaves 34
  const std::size_t huge = rounded_up(bytes, huge_page);
  return huge - bytes > huge / 100 * most_unused_percent ? huge - huge_page : huge;
}

// Checked on every call, because the limit may change.
bool limited_addresses() {
  rlimit addresses{};
  return getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY;
}

}  // namespace

void* allocate_large(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return nullptr;
  const std::size_t lines = rounded_up(bytes, cache_line);
  const std::size_t huge = in_huge_pages(bytes);
  if (huge == 0 || limited_addresses()) return std::aligned_alloc(cache_line, lines);
  void* memory = nullptr;
  if (posix_memalign(&memory, huge_page, std::max(lines, huge)) != 0) return nullptr;
  madvise(memory, huge, MADV_HUGEPAGE);  // a hint: if it is refused, the pages stay small
  return memory;
}

Blocks blocks_together(std::size_t bytes) {
#ifdef MILLRACE_SANITIZED
  constexpr std::size_t least = huge_page;  // no sharing, so that the sanitizer detects overruns
#else
  // Faulting in a huge page costs as much as 130 small pages: five blocks of this size.
  constexpr std::size_t least = std::size_t{96} << 10;
#endif
  if (bytes < least || in_huge_pages(bytes) > 0 || limited_addresses()) return {1, bytes};
  const std::size_t each = rounded_up(bytes, cache_line);
  return {huge_page / each, each};
}

std::size_t large_memory_bytes(std::size_t bytes) { return std::max(bytes, in_huge_pages(bytes)); }

}  // namespace millrace
