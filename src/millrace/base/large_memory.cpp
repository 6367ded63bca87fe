#include "millrace/base/large_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>

namespace millrace {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void* allocate_large(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return nullptr;
  const std::size_t lines = rounded_up(bytes, cache_line);
  // The end is a huge page as well where that is not much more memory than is used.
  std::size_t huge = rounded_up(bytes, huge_page);
  if (huge - bytes > huge / 8 * 3) huge -= huge_page;
  if (huge == 0) return std::aligned_alloc(cache_line, lines);
  void* const memory = std::aligned_alloc(huge_page, std::max(lines, huge));
  if (memory != nullptr) madvise(memory, huge, MADV_HUGEPAGE);
  return memory;
}

}  // namespace millrace
