#pragma once

#include "millrace/image/filters/defaults.h"

#include <algorithm>

namespace millrace::image::filters {

// The input lies somewhere in the output, or outside: coefficients 0 and 1 are where it begins, in pixels of
// the plane.
struct MovedInput {
  // Holds a pixel of the input even where none is needed: the nearest is read then, and not used.
  static Rect footprint(const Rect& output, const PlaneGeometry& input, const Coefficients& k) {
    const Rect moved = shifted(output, -static_cast<int>(k[0]), -static_cast<int>(k[1]));
    return {std::min(moved.x0, input.size.width - 1), std::min(moved.y0, input.size.height - 1),
            std::max(moved.x1, 1), std::max(moved.y1, 1)};
  }
};

}  // namespace millrace::image::filters
