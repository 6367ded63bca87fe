#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

namespace millrace::image::filters {

// Motion: |v - v some frames ago|.
struct Difference : SameSize {
  static Filter about() {
    return {.name = "difference",
            .summary = "how far each pixel is from what it was some frames ago",
            .chroma = ChromaDefault::neutral,
            .parameters = {{.name = "frames",
                            .summary = "how long ago",
                            .unit = "frames",
                            .type = ParameterType::integer,
                            .minimum = 1,
                            .maximum = 30,
                            .required = false,
                            .fallback = 1}}};
  }

  static NeighbouringFrames frames(const ParameterValues& values) {
    return {.before = static_cast<int>(values[0]), .after = 0};
  }

  static std::vector<Part> parts(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {{.filter = find_simple_filter("absolute_difference"),
             .values = {},
             .inputs = {-1 - static_cast<int>(values[0]), -1}}};
  }
};

}  // namespace millrace::image::filters
