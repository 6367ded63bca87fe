// A rectangle of one picture in another, row by row as processors copy memory: the compiler of kernels asks
// for every pixel on which side it lies.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <memory>

namespace millrace::image {

// The kernel of patch on codes (code_patch.h); nullptr for any other filter.
[[nodiscard]] std::shared_ptr<const Kernel> patch_kernel(const Filter& filter);

}  // namespace millrace::image
