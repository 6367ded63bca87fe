// Computes common subexpressions of the rows of one kernel step once.
#pragma once

#include <Halide.h>

namespace millrace::image {

// Adds a lowering pass. If several pixels are stored one after the other with nothing between, their common
// reads and arithmetic are moved before the first store and computed once. LLVM does this by itself only if
// the code between is short.
void share_rows(Halide::Pipeline& pipeline);

}  // namespace millrace::image
