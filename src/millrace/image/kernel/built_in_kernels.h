// The kernels of single filters that were compiled at build time for every instruction set.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>
#include <string_view>

namespace millrace::image {

// nullptr if there is none for this instruction set on this architecture, or if the filter was made at run
// time.
[[nodiscard]] std::shared_ptr<const Kernel> built_in_kernel(const Filter& filter, machine::Isa isa);

// The program_identity() of the compiler that compiled them. Only a compiler with this identity produces
// kernels that match this program; one from another build may not.
[[nodiscard]] std::string_view kernel_compiler_identity();

}  // namespace millrace::image
