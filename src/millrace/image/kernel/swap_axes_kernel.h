// Transposes in squares that fit in registers. Compiled kernels would read one pixel after the other.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <memory>

namespace millrace::image {

// The kernel of swap_axes, or of swap_axes on codes; nullptr for any other filter.
[[nodiscard]] std::shared_ptr<const Kernel> swap_axes_kernel(const Filter& filter);

}  // namespace millrace::image
