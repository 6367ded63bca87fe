// Common defaults of filters: the output has the size of the input, and there are no coefficients.
#pragma once

#include "millrace/image/filter/algebra.h"
#include "millrace/image/filter/filter.h"

namespace millrace::image::filters {

struct SameSize {
  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& /*values*/) {
    return input;
  }
};

struct NoCoefficients {
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& /*values*/) {
    return {};
  }
};

// term(0) + term(1) + ..., starting from 0 and in this order. A term may read pixels: see `fold`.
template <class A, class Term> typename A::Float sum(A& a, const typename A::Int& count, Term&& term) {
  return a.fold(count, typename A::Float(0.0F),
                [&](const typename A::Float& so_far, const typename A::Int& i) { return so_far + term(i); });
}

// Each output pixel depends on the input pixel at the same place.
struct Pointwise : SameSize {
  static constexpr Access access = Access::pointwise;
  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return output;
  }
};

// The result depends only on the input values, not on their position.
struct ValueFunction : Pointwise {
  static constexpr bool value_function = true;
};

}  // namespace millrace::image::filters
