// Copies a rectangle of one picture into another row by row with memcpy. A compiled kernel would test every
// pixel.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <memory>

namespace millrace::image {

// The kernel of patch on codes (code_patch.h); nullptr for any other filter.
[[nodiscard]] std::shared_ptr<const Kernel> patch_kernel(const Filter& filter);

}  // namespace millrace::image
