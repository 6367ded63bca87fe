// Loads neighbouring pixels of a gather in pairs.
#pragma once

#include <Halide.h>
#include <string>
#include <vector>

namespace millrace::image {

// Two views of the same 32-bit floats, one element apart: right[i] is left[i + 1].
struct AdjacentViews {
  std::string left;
  std::string right;
};

// Makes gathers from `left` and `right` load pairs: one 64-bit load per lane instead of two 32-bit loads.
// Halide has no expression for that, so this rewrites the lowered loops. Vectors of fewer than four lanes,
// and views of which only one is read, are left unchanged.
void pair_loads(Halide::Pipeline& pipeline, const std::vector<AdjacentViews>& views);

}  // namespace millrace::image
