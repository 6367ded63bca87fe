// Columns for rows by squares that fit registers: the compiler of kernels reads one pixel after the other.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <memory>

namespace millrace::image {

// The kernel of swap_axes, or of the same on codes; nullptr where `filter` is neither.
[[nodiscard]] std::shared_ptr<const Kernel> swap_axes_kernel(const Filter& filter);

}  // namespace millrace::image
