// Resampling along rows with vector permutes of floats. Compiled kernels would load every pixel separately.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>

namespace millrace::image {

// The kernel of resample_x for 16 pixels at a time; nullptr if the instruction set has none.
[[nodiscard]] std::shared_ptr<const Kernel> resample_x_kernel(machine::Isa isa);

}  // namespace millrace::image
