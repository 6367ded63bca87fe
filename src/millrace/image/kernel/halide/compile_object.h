// Generates the machine code of one kernel.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/machine/processor/isa.h"

#include <cstddef>
#include <vector>

namespace millrace::image {

// Returns a relocatable object whose function object_entry (compiler_message.h) is the kernel. It calls only
// functions of the C library and contains no addresses. Returns an Error if the compiler refuses the group.
[[nodiscard]] Result<std::vector<std::byte>> compile_object(const KernelSpec& spec, machine::Isa isa);

}  // namespace millrace::image
