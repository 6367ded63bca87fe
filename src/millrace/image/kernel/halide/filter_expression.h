// The arithmetic of a filter as a Halide expression.
#pragma once

#include "millrace/image/filter/filter.h"
#include "millrace/image/kernel/halide/halide_algebra.h"

#include <Halide.h>
#include <functional>

namespace millrace::image {

// The pixel (x, y) of the filter's output. Throws std::out_of_range for a filter that is neither of this
// program nor has a formula.
[[nodiscard]] Halide::Expr filter_expression(const Filter& filter, HalideAlgebra& algebra,
                                             const Halide::Expr& x, const Halide::Expr& y);

// A stage whose pixels are computed where they are needed, as the input of `consumer`. It may be asked for
// any pixel of its own frame, which is the consumer's input plane.
[[nodiscard]] InputSymbols
whole_frame_input(const std::function<Halide::Expr(Halide::Expr, Halide::Expr)>& producer,
                  const StageSymbols& consumer);

}  // namespace millrace::image
