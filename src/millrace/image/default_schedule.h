// The static choice where the user names no structure.
#pragma once

#include "millrace/image/schedule.h"

namespace millrace::image {

// Tiles small enough that a tile and its intermediates stay in a core's private cache, stages fused wherever
// that computes nothing twice: over the presets and sizes of docs/benchmarks.md the best single choice.
// threads >= 1.
[[nodiscard]] Schedule default_schedule(int threads, machine::Isa isa);

}  // namespace millrace::image
