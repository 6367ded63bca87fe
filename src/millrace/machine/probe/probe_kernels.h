// Small kernels that each saturate one unit of a PU from one thread.
#pragma once

#include "millrace/machine/processor/demand.h"

#include <cstddef>
#include <string_view>

namespace millrace::machine {

// Memory to traverse and the current position. bytes: a multiple of 16 KiB; 0 if the kernel needs no memory.
struct KernelMemory {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t position = 0;
};

// One round: a fixed amount of work of a few microseconds at most.
using ProbeKernel = void (*)(KernelMemory& memory);

// int: additions. fp: vector fused multiply-adds if the processor has them. simd: integer vector additions.
// l1, l2, llc, dram: memory reads; the working-set size decides which level serves them.
[[nodiscard]] ProbeKernel kernel_of(SharedUnit unit);
// "int", "fma", "simd-int", "L1", "L2", "L3", "dram".
[[nodiscard]] std::string_view kernel_name(SharedUnit unit);

}  // namespace millrace::machine
