// Look-ups in a table of floats without gather instructions.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>

namespace millrace::image {

// The kernel of `curve` or `levels` on floats. It loads the two table entries around a pixel with one load. A
// gather, which many processors run in microcode, would fetch each separately. Bit-identical to the compiled
// kernel. nullptr for other filters and below AVX2.
[[nodiscard]] std::shared_ptr<const Kernel> tone_kernel(const Filter& filter, machine::Isa isa);

}  // namespace millrace::image
