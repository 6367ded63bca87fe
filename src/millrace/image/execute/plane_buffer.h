// Memory for the pixels of a plane or a part of it.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <cstddef>
#include <memory>

namespace millrace::image {

// Owns pixels. There is always a finite pixel to the right of each row and a row below the last one, which
// gathering kernels may read (kernel_builder.h). Rows are an odd number of cache lines apart, so that walking
// down a column uses all sets of a cache. Movable, not copyable.
class PlaneBuffer {
 public:
  PlaneBuffer() = default;
  PlaneBuffer(Size size, ElementType type);

  // The whole buffer as the given rectangle of a plane, which must not be larger than the buffer.
  [[nodiscard]] PixelView view(const Rect& covers) const;
  [[nodiscard]] PixelView view() const { return view(whole(size_)); }
  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  Size size_;
  ElementType type_ = ElementType::f32;
  std::ptrdiff_t stride_ = 0;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[], Free> pixels_;
};

// Memory for one tile at a time: hands out views, releases them all at once, and grows to the largest use.
// One per worker; not synchronized.
class Scratch {
 public:
  // Releases all views and keeps their memory.
  void reset() { used_ = 0; }
  // A view of uninitialized (but finite) pixels, with the same margins as PlaneBuffer.
  [[nodiscard]] PixelView take(const Rect& covers, ElementType type);
  // Allocates `bytes` for views in advance, so that take() does not move memory while views are in use.
  void reserve(std::size_t bytes);
  [[nodiscard]] static std::size_t bytes_for(const Rect& covers, ElementType type);
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

}  // namespace millrace::image
