#include "millrace/image/kernel/moved_input_kernel.h"

#include "millrace/image/filters/named_filters.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <cstdint>

namespace millrace::image {
namespace {

enum class Outside { nearest, border };

template <class T> class MovedInputKernel final : public Kernel {
 public:
  MovedInputKernel(const Filter& filter, Outside outside)
      : Kernel(single_stage(&filter)), outside_(outside) {}

 private:
  // Arguments: input, its corners if it is gathered, two words for the interior, the stage's arguments,
  // output.
  int invoke(std::span<void*> arguments) const override {
    const std::size_t first_coefficient = spec().gathered(0) ? 10 : 6;
    const auto number = [&](std::size_t i) {
      return *static_cast<const float*>(arguments[first_coefficient + i]);
    };
    const auto& input = *static_cast<const halide_buffer_t*>(arguments.front());
    const auto& output = *static_cast<const halide_buffer_t*>(arguments.back());
    const int width = output.dim[0].extent;
    const int from_width = input.dim[0].extent;
    const int from_height = input.dim[1].extent;
    // Positions in the buffers: the output's first pixel in the input, then the columns that have a pixel
    // there.
    const int at_x = output.dim[0].min - static_cast<int>(number(0)) - input.dim[0].min;
    const int at_y = output.dim[1].min - static_cast<int>(number(1)) - input.dim[1].min;
    const int begin = std::clamp(-at_x, 0, width);
    const int end = std::clamp(from_width - at_x, begin, width);
    const bool has_border = outside_ == Outside::border;
    const T border = has_border ? static_cast<T>(number(2)) : T{};
    for (int y = 0; y < output.dim[1].extent; ++y) {
      T* const to = reinterpret_cast<T*>(output.host) + std::ptrdiff_t{y} * output.dim[1].stride;
      const int from_y = std::clamp(at_y + y, 0, from_height - 1);
      if (has_border && from_y != at_y + y) {
        std::fill(to, to + width, border);
        continue;
      }
      const T* const from =
          reinterpret_cast<const T*>(input.host) + std::ptrdiff_t{from_y} * input.dim[1].stride;
      std::fill(to, to + begin, has_border ? border : from[0]);
      std::copy_n(from + at_x + begin, end - begin, to + begin);
      std::fill(to + end, to + width, has_border ? border : from[from_width - 1]);
    }
    return 0;
  }

  Outside outside_;
};

std::shared_ptr<const Kernel> kernel_of(const Filter& filter, std::string_view name, Outside outside) {
  const Filter& on_numbers = *find_simple_filter(name);
  if (&filter == &on_numbers) return std::make_shared<MovedInputKernel<float>>(filter, outside);
  if (&filter == on_codes(on_numbers, ElementType::u8))
    return std::make_shared<MovedInputKernel<std::uint8_t>>(filter, outside);
  if (&filter == on_codes(on_numbers, ElementType::u16))
    return std::make_shared<MovedInputKernel<std::uint16_t>>(filter, outside);
  return nullptr;
}

}  // namespace

std::shared_ptr<const Kernel> moved_input_kernel(const Filter& filter) {
  auto kernel = kernel_of(filter, "place", Outside::nearest);
  return kernel ? kernel : kernel_of(filter, "pad", Outside::border);
}

}  // namespace millrace::image
