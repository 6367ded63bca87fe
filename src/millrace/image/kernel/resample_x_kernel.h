// Resampling along rows with what processors have for picking floats out of vectors, which the compiler of
// kernels has not: it takes every pixel on its own.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>

namespace millrace::image {

// The kernel of resample_x by 16 pixels at once; nullptr where this instruction set has none.
[[nodiscard]] std::shared_ptr<const Kernel> resample_x_kernel(machine::Isa isa);

}  // namespace millrace::image
