// Byte look-ups with shuffle instructions, which compilers do not generate from a loop.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>

namespace millrace::image {

// The kernel of lookup_8 for 64 bytes at a time. nullptr if the processor or instruction set has no suitable
// instructions.
[[nodiscard]] std::shared_ptr<const Kernel> lookup_kernel(machine::Isa isa);

}  // namespace millrace::image
