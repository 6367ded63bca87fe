#include "millrace/image/kernel.h"

#include <HalideRuntime.h>
#include <array>

namespace millrace::image {
namespace {

halide_type_t type_of(ElementType type) {
  switch (type) {
  case ElementType::u8:
    return {halide_type_uint, 8};
  case ElementType::u16:
    return {halide_type_uint, 16};
  case ElementType::f32:
    return {halide_type_float, 32};
  }
  return {halide_type_float, 32};
}

// A view as the kernels take it. Points into itself, so it is filled in place and never copied.
struct Buffer {
  halide_buffer_t header;
  std::array<halide_dimension_t, 2> dimensions;

  void fill(const PixelView& view, int dx, int dy) {
    const int bytes = bytes_of(view.type);
    header = {};
    header.type = type_of(view.type);
    header.dimensions = 2;
    header.dim = dimensions.data();
    header.host = reinterpret_cast<std::uint8_t*>(view.data + dy * view.stride + std::ptrdiff_t{dx} * bytes);
    dimensions[0] = {view.covers.x0, view.covers.width(), 1};
    dimensions[1] = {view.covers.y0, view.covers.height(), static_cast<int>(view.stride / bytes)};
  }
};

constexpr int scalars_per_kernel = 2;
constexpr int scalars_per_stage = 3 + max_coefficients;
constexpr int views_of_gathered = 4;

}  // namespace

Kernel::Kernel(KernelSpec spec) : spec_(std::move(spec)) {
  for (int b = 0; b < spec_.buffers; ++b)
    gathered_.push_back(spec_.gathered(b));
}

bool Kernel::run(std::span<const PixelView> inputs, std::span<const StageArguments> stages, Interior interior,
                 const PixelView& output, std::span<const PixelView> stored) const {
  std::array<Buffer, max_kernel_buffers * views_of_gathered + max_kernel_stages> buffers;
  std::array<void*, buffers.size() + scalars_per_kernel + scalars_per_stage * max_kernel_stages> arguments;
  int gathers = interior.gathers ? 1 : 0;
  int columns = interior.columns ? 1 : 0;
  std::size_t used = 0;
  std::size_t count = 0;

  for (std::size_t b = 0; b < inputs.size(); ++b) {
    const int views = gathered_[b] ? views_of_gathered : 1;
    for (int v = 0; v < views; ++v) {
      buffers[used].fill(inputs[b], v & 1, v >> 1);
      arguments[count++] = &buffers[used++].header;
    }
  }
  arguments[count++] = &gathers;
  arguments[count++] = &columns;
  for (const StageArguments& stage : stages) {
    // The kernels take everything by non-const pointer but only read these.
    arguments[count++] = const_cast<int*>(&stage.width);
    arguments[count++] = const_cast<int*>(&stage.height);
    arguments[count++] = const_cast<float*>(&stage.fill);
    for (const float& coefficient : stage.coefficients)
      arguments[count++] = const_cast<float*>(&coefficient);
  }
  buffers[used].fill(output, 0, 0);
  arguments[count++] = &buffers[used++].header;
  for (const PixelView& view : stored) {
    buffers[used].fill(view, 0, 0);
    arguments[count++] = &buffers[used++].header;
  }
  return invoke({arguments.data(), count}) == 0;
}

}  // namespace millrace::image
