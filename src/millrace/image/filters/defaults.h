// What most filters share: the output has the input's size, and there are no coefficients.
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

// term(0) + term(1) + ..., from 0 and in this order. A term reads one pixel: see `fold`.
template <class A, class Term> typename A::Float sum(A& a, const typename A::Int& count, Term&& term) {
  return a.fold(count, typename A::Float(0.0F),
                [&](const typename A::Float& so_far, const typename A::Int& i) { return so_far + term(i); });
}

// One pixel of input, at the same place, for one pixel of output.
struct Pointwise : SameSize {
  static constexpr Access access = Access::pointwise;
  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return output;
  }
};

// The same for the same value of its inputs, wherever it is.
struct ValueFunction : Pointwise {
  static constexpr bool value_function = true;
};

}  // namespace millrace::image::filters
