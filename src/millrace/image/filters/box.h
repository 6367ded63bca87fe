#pragma once

#include "millrace/image/filters/separable.h"

namespace millrace::image::filters {

// The mean of a square. The radius is in luma samples, rounded to whole samples of other planes.
struct Box : SameSize {
  static Filter about() {
    return {.name = "box",
            .summary = "the mean of the (2*radius+1)^2 pixels around",
            .parameters = {{.name = "radius",
                            .summary = "how far the square reaches to each side",
                            .unit = "pixels",
                            .type = ParameterType::integer,
                            .minimum = 1,
                            .maximum = 100}}};
  }

  static ParameterValues weights(double radius, int step) {
    const int samples = (static_cast<int>(radius) + step / 2) / step;
    return ParameterValues(samples + 1, 1.0 / (2 * samples + 1));
  }

  static std::vector<Part> parts(const PlaneGeometry& input, const ParameterValues& values) {
    return separable(weights(values[0], input.step_x), weights(values[0], input.step_y));
  }
};

}  // namespace millrace::image::filters
