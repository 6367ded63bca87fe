// The kernel of a formula that nothing has to be compiled for: operation after operation over short pieces of
// rows. What runs until the compiled one is there, and for good where there is no compiler.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <memory>

namespace millrace::image {

// nullptr for a spec that is anything but one stage with a formula, and nothing stored.
[[nodiscard]] std::shared_ptr<const Kernel> formula_kernel(const KernelSpec& spec);

}  // namespace millrace::image
