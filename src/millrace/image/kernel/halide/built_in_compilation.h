// Compiles the kernels of all filters ahead of time; the build calls the kernel compiler for this.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/processor/isa.h"

#include <span>
#include <string>

namespace millrace::image {

// Writes to the folder: kernels_ISA.o for each instruction set (at least one); kernel_runtime.o, the Halide
// runtime that they share; and kernel_table.inc, which lists their entries and the identity of the compiler.
[[nodiscard]] Status compile_built_in_kernels(const std::string& folder, std::span<const machine::Isa> isas);

}  // namespace millrace::image
