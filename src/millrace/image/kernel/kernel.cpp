#include "millrace/image/kernel/kernel.h"

#include <HalideRuntime.h>
#include <algorithm>
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

// A view in the form that kernels take. It points into itself, so it is filled in place and never copied.
struct Buffer {
  halide_buffer_t header;
  std::array<halide_dimension_t, 2> dimensions;

  void fill(const PixelView& view) {
    set_header(view, view.data, 2);
    dimensions[0] = {view.covers.x0, view.covers.width(), 1};
    dimensions[1] = {view.covers.y0, view.covers.height(), row_of(view)};
  }

  // All of its memory as one row, beginning dx pixels right and dy rows down.
  void fill_corner(const PixelView& view, int dx, int dy) {
    set_header(view, view.data + dy * view.stride + std::ptrdiff_t{dx} * bytes_of(view.type), 1);
    dimensions[0] = {0, row_of(view) * view.covers.height(), 1};
  }

  // Kernels take every argument by non-const pointer but only read this.
  void fill_table(std::span<const float> table) {
    set_header({.type = ElementType::f32}, reinterpret_cast<std::byte*>(const_cast<float*>(table.data())), 1);
    dimensions[0] = {0, static_cast<int>(table.size()), 1};
  }

 private:
  static int row_of(const PixelView& view) { return static_cast<int>(view.stride / bytes_of(view.type)); }

  void set_header(const PixelView& view, std::byte* first, int count) {
    header = {};
    header.type = type_of(view.type);
    header.dimensions = count;
    header.dim = dimensions.data();
    header.host = reinterpret_cast<std::uint8_t*>(first);
  }
};

constexpr int scalars_per_kernel = 2;
constexpr int arguments_per_stage = 3 + max_coefficients + 1;  // + 1 is the table
constexpr int corners_of_gathered = 4;

}  // namespace

Kernel::Kernel(KernelSpec spec) : spec_(std::move(spec)), gathers_(spec_.has(Access::gather)) {
  for (int b = 0; b < spec_.buffers; ++b)
    gathered_.push_back(spec_.gathered(b));
}

bool Kernel::run(std::span<const PixelView> inputs, std::span<const StageArguments> stages, Interior interior,
                 const PixelView& output, std::span<const PixelView> stored) const {
  if (!gathers_ || output.covers.width() <= max_gather_columns)
    return run_columns(inputs, stages, interior, output, stored);
  std::array<PixelView, max_kernel_stages> stored_parts;
  const auto [x0, y0, x1, y1] = output.covers;
  for (int x = x0; x < x1; x += max_gather_columns) {
    const Rect part{x, y0, std::min(x + max_gather_columns, x1), y1};
    for (std::size_t i = 0; i < stored.size(); ++i)
      stored_parts[i] = stored[i].part(part);
    if (!run_columns(inputs, stages, interior, output.part(part), {stored_parts.data(), stored.size()}))
      return false;
  }
  return true;
}

bool Kernel::run_columns(std::span<const PixelView> inputs, std::span<const StageArguments> stages,
                         Interior interior, const PixelView& output,
                         std::span<const PixelView> stored) const {
  // Inputs with their corners, the output, stored stages and tables.
  std::array<Buffer, max_kernel_buffers * (1 + corners_of_gathered) + 2 * max_kernel_stages> buffers;
  std::array<void*, buffers.size() + scalars_per_kernel + arguments_per_stage * max_kernel_stages> arguments;
  int gathers = interior.gathers ? 1 : 0;
  int columns = interior.columns ? 1 : 0;
  std::size_t used = 0;
  std::size_t count = 0;

  for (std::size_t b = 0; b < inputs.size(); ++b) {
    buffers[used].fill(inputs[b]);
    arguments[count++] = &buffers[used++].header;
    for (int c = 0; gathered_[b] && c < corners_of_gathered; ++c) {
      buffers[used].fill_corner(inputs[b], c & 1, c >> 1);
      arguments[count++] = &buffers[used++].header;
    }
  }
  arguments[count++] = &gathers;
  arguments[count++] = &columns;
  for (const StageArguments& stage : stages) {
    // Kernels take every argument by non-const pointer but only read these.
    arguments[count++] = const_cast<int*>(&stage.width);
    arguments[count++] = const_cast<int*>(&stage.height);
    arguments[count++] = const_cast<float*>(&stage.fill);
    for (const float& coefficient : stage.coefficients)
      arguments[count++] = const_cast<float*>(&coefficient);
    const std::span<const float> table = stage.coefficients.table();
    if (table.empty()) continue;
    buffers[used].fill_table(table);
    arguments[count++] = &buffers[used++].header;
  }
  buffers[used].fill(output);
  arguments[count++] = &buffers[used++].header;
  for (const PixelView& view : stored) {
    buffers[used].fill(view);
    arguments[count++] = &buffers[used++].header;
  }
  return invoke({arguments.data(), count}) == 0;
}

}  // namespace millrace::image
