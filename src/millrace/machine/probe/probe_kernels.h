// Small kernels that each keep one unit of a PU as busy as one thread can.
#pragma once

#include "millrace/machine/processor/demand.h"

#include <cstddef>
#include <string_view>

namespace millrace::machine {

// Memory to walk through, and where to go on. bytes: a multiple of 16 KiB; 0 where the kernel needs none.
struct KernelMemory {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t position = 0;
};

// One round: the same work each time, of a few microseconds at most.
using ProbeKernel = void (*)(KernelMemory& memory);

// int: additions; fp: fused multiply-adds of vectors, where the processor has them; simd: additions of
// integer vectors; l1, l2, llc, dram: reading memory, of which whose size decides where it lies.
[[nodiscard]] ProbeKernel kernel_of(SharedUnit unit);
// "int", "fma", "simd-int", "L1", "L2", "L3", "dram".
[[nodiscard]] std::string_view kernel_name(SharedUnit unit);

}  // namespace millrace::machine
