// Allocates memory on cache-line boundaries at the cost of plain operator new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace millrace::stream {

// Over-allocates with plain operator new. glibc's aligned allocation bypasses the per-thread cache of free
// blocks. Allocating and freeing four such blocks took a tenth of a run of 32 small items.
[[nodiscard]] inline void* new_aligned(std::size_t bytes, std::size_t alignment) {
  // Blocks are aligned at least to the size of a pointer, so their address fits before the boundary.
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
  auto* const block = static_cast<std::byte*>(operator new(bytes + alignment));
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(block) % alignment;
  std::byte* const boundary = block + (alignment - beyond);
  reinterpret_cast<void**>(boundary)[-1] = block;
  return boundary;
}
inline void delete_aligned(void* memory) noexcept {
  if (memory) operator delete(static_cast<void**>(memory)[-1]);
}

// Allocator for containers of over-aligned types.
template <class T> struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U> explicit(false) AlignedAllocator(const AlignedAllocator<U>&) {}
  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(new_aligned(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { delete_aligned(memory); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

}  // namespace millrace::stream
