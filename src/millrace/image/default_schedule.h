// The static choice where the user names no structure.
#pragma once

#include "millrace/image/schedule.h"

namespace millrace::image {

// Tiles small enough that a tile and its intermediates stay in a core's private cache, stages fused wherever
// that computes nothing twice. A first choice by reasoning, not yet by measurement.
// threads >= 1.
[[nodiscard]] Schedule default_schedule(int threads, machine::Isa isa);

}  // namespace millrace::image
