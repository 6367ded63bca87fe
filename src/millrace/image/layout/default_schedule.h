// The static choice where the user names no structure.
#pragma once

#include "millrace/image/layout/schedule.h"

namespace millrace::image {

// Tiles small enough that a tile and its intermediates stay in a core's private cache and large enough that a
// call of a kernel costs little beside it, stages fused wherever that computes nothing twice. `millrace bench
// adapt` prints how close it comes to the best (docs/benchmarks.md).
// threads >= 1.
[[nodiscard]] Schedule default_schedule(int threads, machine::Isa isa);

}  // namespace millrace::image
