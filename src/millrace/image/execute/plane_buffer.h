// Memory for the pixels of one plane or a part of it.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <cstddef>
#include <memory>

namespace millrace::image {

// Owns pixels. There is always one finite pixel to the right of each row and a row below the last, which
// gathering kernels may read (kernel_builder.h). Rows are an odd number of cache lines apart, so that a walk
// down a column meets all sets of a cache. Moved, not copied.
class PlaneBuffer {
 public:
  PlaneBuffer() = default;
  PlaneBuffer(Size size, ElementType type);

  // The whole buffer as the given rectangle of a plane; rect's size must not exceed the buffer's.
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

// Memory for one tile at a time: hands out views, takes them all back at once, and grows to the largest use.
// One for each worker; not synchronised.
class Scratch {
 public:
  // Forgets all views. Their memory stays.
  void reset() { used_ = 0; }
  // A view of uninitialised (but finite) pixels, with the margins that PlaneBuffer describes.
  [[nodiscard]] PixelView take(const Rect& covers, ElementType type);
  // Makes room for `bytes` of views beforehand, so that take() moves nothing while views are in use.
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
