// Neighbouring pixels of a gather, loaded two at a time.
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

// Has the vectors that a kernel gathers from `left` and `right` loaded as pairs: 64 bits for each lane
// instead of twice 32. Halide has no expression for that, so it is done to the lowered loops. Vectors of
// fewer than four lanes and views of which only one is read stay as they are.
void pair_loads(Halide::Pipeline& pipeline, const std::vector<AdjacentViews>& views);

}  // namespace millrace::image
