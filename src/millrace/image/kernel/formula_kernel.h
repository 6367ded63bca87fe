// A kernel for formulas that needs no compiler: it applies one operation after the other to short pieces of
// rows. Used until the compiled kernel is available, or permanently if there is no compiler.
#pragma once

#include "millrace/image/kernel/kernel.h"

#include <memory>

namespace millrace::image {

// nullptr unless the spec is a single stage with a formula and no stored stages.
[[nodiscard]] std::shared_ptr<const Kernel> formula_kernel(const KernelSpec& spec);

}  // namespace millrace::image
