// The static schedule used if the user names no structure.
#pragma once

#include "millrace/image/layout/schedule.h"

namespace millrace::image {

// Tiles small enough for a tile and its intermediates to fit a core's private cache, and large enough to make
// the overhead of kernel calls negligible. Stages are fused if that computes nothing twice. `millrace bench
// adapt` prints how close this comes to the best schedule (docs/benchmarks.md). threads >= 1.
[[nodiscard]] Schedule default_schedule(int threads, machine::Isa isa);

}  // namespace millrace::image
