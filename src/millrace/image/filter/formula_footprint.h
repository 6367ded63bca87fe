// Computes which pixels a formula reads. Pixels at constant distances are known. Computed places depend on
// the pixel's position, coefficients, the table and loop steps. They are bounded by interval arithmetic in
// the formula's own floats, whose rounding is monotonic. A place that depends on a pixel value may be
// anywhere.
#pragma once

#include "millrace/image/filter/coefficients.h"
#include "millrace/image/filter/formula.h"
#include "millrace/image/filter/geometry.h"

namespace millrace::image {

// For an input plane of this size: a superset of the pixels that the output reads, before clamping to the
// plane.
[[nodiscard]] Rect formula_footprint(const Formula& formula, const Rect& output, Size input,
                                     const Coefficients& coefficients);

}  // namespace millrace::image
