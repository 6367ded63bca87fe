#include "millrace/image/execute/plane_buffer.h"

#include "millrace/base/process/large_memory.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace millrace::image {
namespace {

constexpr std::size_t cache_line = 64;

std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Zeroed, so that pixels that were never written are finite.
std::byte* allocate(std::size_t bytes) {
  void* memory = allocate_large(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, bytes);
  return static_cast<std::byte*>(memory);
}

std::ptrdiff_t stride_for(int width, ElementType type) {
  const std::size_t lines =
      rounded((static_cast<std::size_t>(width) + 1) * bytes_of(type), cache_line) / cache_line;
  return static_cast<std::ptrdiff_t>((lines | 1) * cache_line);
}

}  // namespace

PlaneBuffer::PlaneBuffer(Size size, ElementType type)
    : size_(size), type_(type), stride_(stride_for(size.width, type)),
      bytes_(static_cast<std::size_t>(stride_) * (size.height + 1)), pixels_(allocate(bytes_)) {}

PixelView PlaneBuffer::view(const Rect& covers) const { return {pixels_.get(), stride_, covers, type_}; }

void PlaneBuffer::Free::operator()(std::byte* memory) const { std::free(memory); }

void Scratch::Free::operator()(std::byte* memory) const { std::free(memory); }

std::size_t Scratch::bytes_for(const Rect& covers, ElementType type) {
  return static_cast<std::size_t>(stride_for(covers.width(), type)) * (covers.height() + 1);
}

void Scratch::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  // Growing by half limits the number of allocations when tiles differ slightly.
  const std::size_t capacity = rounded(bytes + bytes / 2, cache_line);
  memory_.reset(allocate(capacity));  // if this throws, the old memory is kept
  capacity_ = capacity;
}

PixelView Scratch::take(const Rect& covers, ElementType type) {
  const PixelView view{memory_.get() + used_, stride_for(covers.width(), type), covers, type};
  used_ += bytes_for(covers, type);
  return view;
}

}  // namespace millrace::image
