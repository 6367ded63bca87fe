// Which pixels a formula reads. Those at constant distances are known; of places that it computes, from where
// the pixel is, coefficients, the table and how often a loop was gone through, bounds are computed by
// interval arithmetic in the floats of the formula itself, whose rounding keeps the order of numbers. A place
// that depends on a pixel may be anywhere.
#pragma once

#include "millrace/image/filter/coefficients.h"
#include "millrace/image/filter/formula.h"
#include "millrace/image/filter/geometry.h"

namespace millrace::image {

// Of a plane of this size; a superset of what the output's pixels read, before it is clamped to the plane.
[[nodiscard]] Rect formula_footprint(const Formula& formula, const Rect& output, Size input,
                                     const Coefficients& coefficients);

}  // namespace millrace::image
