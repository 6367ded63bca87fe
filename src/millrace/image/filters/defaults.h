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

// One pixel of input, at the same place, for one pixel of output.
struct Pointwise : SameSize {
  static constexpr Access access = Access::pointwise;
  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return output;
  }
};

}  // namespace millrace::image::filters
