// Lets kernels divide by constants that are zero.
#pragma once

#include <Halide.h>

namespace millrace::image {

// Adds a lowering pass that turns each division of floats by a constant zero into a multiplication by the
// infinity of the same sign, which gives the results of IEEE 754 for the division. Halide refuses to generate
// code for such divisions. Add it after passes that can make a divisor constant.
void multiply_for_zero_divisors(Halide::Pipeline& pipeline);

}  // namespace millrace::image
