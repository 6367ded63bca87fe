#include "millrace/image/kernel/patch_kernel.h"

#include "millrace/image/filters/code_patch.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <cstdint>

namespace millrace::image {
namespace {

template <class T> class PatchKernel final : public Kernel {
 public:
  explicit PatchKernel(const Filter& filter) : Kernel(single_stage(&filter)) {}

 private:
  // Arguments: two inputs, two words for the interior, the stage's arguments, output.
  int invoke(std::span<void*> arguments) const override {
    constexpr std::size_t first_coefficient = 7;
    const auto side = [&](std::size_t i) {
      return static_cast<int>(*static_cast<const float*>(arguments[first_coefficient + i]));
    };
    const auto& output = *static_cast<const halide_buffer_t*>(arguments.back());
    const int width = output.dim[0].extent;
    const int left = std::clamp(side(0) - output.dim[0].min, 0, width);
    const int right = std::clamp(side(2) - output.dim[0].min, left, width);
    for (int row = 0; row < output.dim[1].extent; ++row) {
      const int y = output.dim[1].min + row;
      const auto from = [&](std::size_t i) {
        const auto& input = *static_cast<const halide_buffer_t*>(arguments[i]);
        return reinterpret_cast<const T*>(input.host) +
               std::ptrdiff_t{y - input.dim[1].min} * input.dim[1].stride +
               (output.dim[0].min - input.dim[0].min);
      };
      T* const to = reinterpret_cast<T*>(output.host) + std::ptrdiff_t{row} * output.dim[1].stride;
      const bool inside = y >= side(1) && y < side(3);
      const int begin = inside ? left : width;
      const int end = inside ? right : width;
      std::copy_n(from(0), begin, to);
      std::copy_n(from(1) + begin, end - begin, to + begin);
      std::copy_n(from(0) + end, width - end, to + end);
    }
    return 0;
  }
};

}  // namespace

std::shared_ptr<const Kernel> patch_kernel(const Filter& filter) {
  if (filter.name == filters::CodePatch<ElementType::u8>::name)
    return std::make_shared<PatchKernel<std::uint8_t>>(filter);
  if (filter.name == filters::CodePatch<ElementType::u16>::name)
    return std::make_shared<PatchKernel<std::uint16_t>>(filter);
  return nullptr;
}

}  // namespace millrace::image
