// The machine code of one kernel.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/machine/processor/isa.h"

#include <cstddef>
#include <vector>

namespace millrace::image {

// A relocatable object whose function object_entry (compiler_message.h) is the kernel. It calls functions of
// the C library at most and holds no address. An Error where the compiler refuses the group.
[[nodiscard]] Result<std::vector<std::byte>> compile_object(const KernelSpec& spec, machine::Isa isa);

}  // namespace millrace::image
