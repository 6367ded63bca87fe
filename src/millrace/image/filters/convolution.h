// A 3x3 neighbourhood with replicated edges.
#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

struct Convolution3x3 : SameSize, NoCoefficients {
  static constexpr Access access = Access::stencil;

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return grown(output, 1);
  }

  // Reads the nine pixels around (x, y), row by row. All nine are read even if a weight is 0; the kernel
  // compiler drops unused loads.
  template <class A> struct Window {
    Window(A& a, const typename A::Int& x, const typename A::Int& y) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          value[dy + 1][dx + 1] = a.input(0, a.replicate_x(x + dx), a.replicate_y(y + dy));
        }
      }
    }
    typename A::Float value[3][3];
  };
};

}  // namespace millrace::image::filters
