#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

namespace millrace::image::filters {

struct Median : SameSize {
  static Filter about() {
    return {.name = "median",
            .summary = "the median of a square of pixels: takes away specks and keeps edges",
            .parameters = {{.name = "radius",
                            .summary = "1: 3x3 pixels, 2: 5x5",
                            .unit = "pixels",
                            .type = ParameterType::integer,
                            .minimum = 1,
                            .maximum = 2,
                            .required = false,
                            .fallback = 1}}};
  }

  static std::vector<Part> parts(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {{.filter = find_simple_filter(values[0] == 1 ? "median3" : "median5"), .values = {}}};
  }
};

}  // namespace millrace::image::filters
