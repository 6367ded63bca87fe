// Resampling codes by products of 16 bits, two of which are summed at once, and by picking bytes out of
// vectors: what no compiler makes of a loop.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>

namespace millrace::image {

// The kernel of a part of `resize` on codes (code_resample.h); nullptr where `filter` is none, or this
// processor or instruction set has no such products.
[[nodiscard]] std::shared_ptr<const Kernel> code_resample_kernel(const Filter& filter, machine::Isa isa);

}  // namespace millrace::image
