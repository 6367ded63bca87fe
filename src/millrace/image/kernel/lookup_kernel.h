// Looking up bytes with what processors have for it and no compiler makes of a loop.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>

namespace millrace::image {

// The kernel of lookup_8 by 64 bytes at once; nullptr where this processor or instruction set has none.
[[nodiscard]] std::shared_ptr<const Kernel> lookup_kernel(machine::Isa isa);

}  // namespace millrace::image
