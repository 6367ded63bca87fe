#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

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

  static int in_samples(double radius, int step) { return (static_cast<int>(radius) + step / 2) / step; }

  static std::vector<Part> parts(const PlaneGeometry& input, const ParameterValues& values) {
    const int columns = in_samples(values[0], input.step_x);
    const int rows = in_samples(values[0], input.step_y);
    const double count = (2.0 * columns + 1) * (2.0 * rows + 1);
    return {{.filter = find_simple_filter("box_rows"), .values = {double(columns), count}},
            {.filter = find_simple_filter("box_columns"), .values = {double(rows), count}, .inputs = {0}}};
  }
};

}  // namespace millrace::image::filters
