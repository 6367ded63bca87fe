#pragma once

#include "millrace/image/filters/defaults.h"

#include <algorithm>

namespace millrace::image::filters {

// Places the input somewhere in the output, or outside. Coefficients 0 and 1 are its origin, in pixels of the
// plane.
struct MovedInput {
  // Never empty: if no input pixel is needed, the nearest one is read and ignored.
  static Rect footprint(const Rect& output, const PlaneGeometry& input, const Coefficients& k) {
    const Rect moved = shifted(output, -static_cast<int>(k[0]), -static_cast<int>(k[1]));
    return {std::min(moved.x0, input.size.width - 1), std::min(moved.y0, input.size.height - 1),
            std::max(moved.x1, 1), std::max(moved.y1, 1)};
  }
};

}  // namespace millrace::image::filters
