// The kernels of single filters that the build compiled for every instruction set.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>
#include <string_view>

namespace millrace::image {

// nullptr where there is none for this instruction set on this architecture, nor for filters made at run
// time.
[[nodiscard]] std::shared_ptr<const Kernel> built_in_kernel(const Filter& filter, machine::Isa isa);

// The program_identity() of the compiler that compiled them. Whatever it compiles later belongs to this
// program as these do, which what another build of it compiles may not.
[[nodiscard]] std::string_view kernel_compiler_identity();

}  // namespace millrace::image
