// Loads kernels of groups from the objects that the kernel compiler made. Every function may be called from
// any thread.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/kernel/kernel.h"

#include <cstddef>
#include <memory>
#include <span>

namespace millrace::image {

// Loads the kernel from an object that was compiled for an equal spec. Requires can_load_objects, see
// elf_object.h. Returns an Error if the object is damaged.
[[nodiscard]] Result<std::shared_ptr<const Kernel>> load_kernel(const KernelSpec& spec,
                                                                std::span<const std::byte> object);

}  // namespace millrace::image
