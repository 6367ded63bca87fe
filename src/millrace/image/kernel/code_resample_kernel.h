// Resampling of codes with 16-bit multiply-add instructions and byte shuffles, which compilers do not
// generate from a loop.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>

namespace millrace::image {

// The kernel of a part of `resize` on codes (code_resample.h). nullptr for other filters, or if the processor
// or instruction set lacks these instructions.
[[nodiscard]] std::shared_ptr<const Kernel> code_resample_kernel(const Filter& filter, machine::Isa isa);

}  // namespace millrace::image
