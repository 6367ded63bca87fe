#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

namespace millrace::image::filters {

// The median of 3 or 5 frames centred on the current one.
struct TemporalMedian : SameSize {
  static Filter about() {
    return {.name = "temporal_median",
            .summary = "the median of neighbouring frames: takes away what lasts shorter than half of them",
            .parameters = {{.name = "radius",
                            .summary = "1: 3 frames, 2: 5",
                            .unit = "frames",
                            .type = ParameterType::integer,
                            .minimum = 1,
                            .maximum = 2,
                            .required = false,
                            .fallback = 1}}};
  }

  static NeighbouringFrames frames(const ParameterValues& values) {
    const int radius = static_cast<int>(values[0]);
    return {.before = radius, .after = radius};
  }

  static std::vector<Part> parts(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    if (values[0] == 1)
      return {{.filter = find_simple_filter("middle_of_3"), .values = {}, .inputs = {-1, -2, -3}}};
    return {{.filter = find_simple_filter("middle_of_5"), .values = {}, .inputs = {-1, -2, -3, -4, -5}}};
  }
};

}  // namespace millrace::image::filters
