// The arithmetic of a filter as a Halide expression.
#pragma once

#include "millrace/image/filter/filter.h"
#include "millrace/image/kernel/halide/halide_algebra.h"

#include <Halide.h>
#include <functional>

namespace millrace::image {

// The pixel (x, y) of the filter's output. Throws std::out_of_range if the filter is neither built in nor has
// a formula.
[[nodiscard]] Halide::Expr filter_expression(const Filter& filter, HalideAlgebra& algebra,
                                             const Halide::Expr& x, const Halide::Expr& y);

// A stage that is inlined into its consumer. Any pixel of its frame, which is the consumer's input plane, may
// be read.
[[nodiscard]] InputSymbols
whole_frame_input(const std::function<Halide::Expr(Halide::Expr, Halide::Expr)>& producer,
                  const StageSymbols& consumer);

}  // namespace millrace::image
