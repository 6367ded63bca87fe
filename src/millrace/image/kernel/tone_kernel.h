// Values looked up in a table of floats without the instruction that gathers.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/machine/processor/isa.h"

#include <memory>

namespace millrace::image {

// The kernel of `curve` or `levels` on numbers: the two neighbouring entries that a pixel lies between come
// by one load of both, where a gather, which many processors do in microcode, fetches each of them alone.
// Same bits. nullptr for other filters, and below AVX2.
[[nodiscard]] std::shared_ptr<const Kernel> tone_kernel(const Filter& filter, machine::Isa isa);

}  // namespace millrace::image
