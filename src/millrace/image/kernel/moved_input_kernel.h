// Moving a picture row by row, which is what processors copy memory with: the compiler of kernels moves
// pixels one by one where an edge may be near.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <memory>

namespace millrace::image {

// The kernel of a filter that is a MovedInput: of place, of pad, and of both on codes; nullptr for any other.
[[nodiscard]] std::shared_ptr<const Kernel> moved_input_kernel(const Filter& filter);

}  // namespace millrace::image
