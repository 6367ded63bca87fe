// What the rows of one step of a kernel have in common is computed once.
#pragma once

#include <Halide.h>

namespace millrace::image {

// Adds the pass: where pixels are stored one after the other, with nothing between, equal reads and equal
// arithmetic of all of them come first, once. LLVM does so by itself only where the code between is short.
void share_rows(Halide::Pipeline& pipeline);

}  // namespace millrace::image
