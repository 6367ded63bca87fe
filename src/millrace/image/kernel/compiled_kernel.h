// Kernels of groups, compiled while the program runs. Every function may be called from any thread; compiling
// wants a stack of some megabytes.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/isa.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace millrace::image {

// A kernel's machine code as a relocatable object. It calls functions of the C library at most and holds no
// address, so it may be kept and loaded again by a program with the same filters. An Error where the compiler
// refuses the group.
[[nodiscard]] Result<std::vector<std::byte>> compile_object(const KernelSpec& spec, machine::Isa isa);

// The kernel in an object that compile_object made for an equal spec. Only where can_load_objects, see
// elf_object.h; an Error where the object is damaged.
[[nodiscard]] Result<std::shared_ptr<const Kernel>> load_kernel(const KernelSpec& spec,
                                                                std::span<const std::byte> object);

// The same kernel for any architecture, bound to this process. The first of a process takes 0.6 s more than
// compile_object, which needs none of the runtime that is compiled with it.
[[nodiscard]] Result<std::shared_ptr<const Kernel>> compile_just_in_time(const KernelSpec& spec,
                                                                         machine::Isa isa);

}  // namespace millrace::image
