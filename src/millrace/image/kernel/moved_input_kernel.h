// Moves a picture row by row with memcpy. Compiled kernels would move pixels one by one near edges.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <memory>

namespace millrace::image {

// The kernel of a MovedInput filter: place, pad, and both on codes. nullptr for any other.
[[nodiscard]] std::shared_ptr<const Kernel> moved_input_kernel(const Filter& filter);

}  // namespace millrace::image
