// A compiled kernel: computes any rectangle of its output from buffers that cover the required input.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/image/layout/grouping.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace millrace::image {

// A view of the pixels `covers` of one plane, row by row. Does not own the memory.
struct PixelView {
  std::byte* data = nullptr;  // pixel (covers.x0, covers.y0)
  std::ptrdiff_t stride = 0;  // bytes from one row to the next, a multiple of the element size
  Rect covers;
  ElementType type = ElementType::f32;

  [[nodiscard]] std::byte* at(int x, int y) const {
    return data + (y - covers.y0) * stride + std::ptrdiff_t{x - covers.x0} * bytes_of(type);
  }
  template <class T> [[nodiscard]] T& pixel(int x, int y) const { return *reinterpret_cast<T*>(at(x, y)); }
  [[nodiscard]] PixelView part(const Rect& rect) const { return {at(rect.x0, rect.y0), stride, rect, type}; }
};

// Arguments of one stage of a kernel for one plane.
struct StageArguments {
  int width = 0;  // of the stage's input plane
  int height = 0;
  float fill = 0;
  Coefficients coefficients{};
};

// Guarantees by the caller for all stages of a kernel. False is always correct, but slower.
struct Interior {
  bool gathers = false;  // no gathering stage reads outside its frame
  bool columns = false;  // no stencil reaches past the first or last column of its frame
};

// Immutable and safe to call from any number of threads at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Computes output.covers. inputs: one view per buffer, covering the input of the rectangle. A gathered
  // buffer must be readable one pixel further right and one row further down, see kernel_builder.h. stored:
  // one view per stored stage, with the output's rectangle. Violations are undefined behaviour. Only kernels
  // built into a sanitizer build check their arguments, and return false.
  [[nodiscard]] bool run(std::span<const PixelView> inputs, std::span<const StageArguments> stages,
                         Interior interior, const PixelView& output,
                         std::span<const PixelView> stored = {}) const;

  [[nodiscard]] const KernelSpec& spec() const { return spec_; }

 protected:
  explicit Kernel(KernelSpec spec);

 private:
  [[nodiscard]] bool run_columns(std::span<const PixelView> inputs, std::span<const StageArguments> stages,
                                 Interior interior, const PixelView& output,
                                 std::span<const PixelView> stored) const;
  // arguments: one pointer each, in the order of kernel_builder.h.
  [[nodiscard]] virtual int invoke(std::span<void*> arguments) const = 0;

  KernelSpec spec_;
  bool gathers_ = false;
  std::vector<bool> gathered_;
};

}  // namespace millrace::image
