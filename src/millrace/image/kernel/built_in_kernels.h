// The kernels of single filters that the build compiled for every instruction set.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/isa.h"

#include <memory>

namespace millrace::image {

// nullptr where there is none for this instruction set on this architecture.
[[nodiscard]] std::shared_ptr<const Kernel> built_in_kernel(const Filter& filter, machine::Isa isa);

}  // namespace millrace::image
