#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

namespace millrace::image::filters {

// The mean of n frames: (n-1)/2 before, the current one, the rest after.
struct TemporalAverage : SameSize {
  static Filter about() {
    return {.name = "temporal_average",
            .summary = "the mean of neighbouring frames",
            .parameters = {{.name = "n",
                            .summary = "how many, this one in the middle",
                            .unit = "frames",
                            .type = ParameterType::integer,
                            .minimum = 2,
                            .maximum = 7}}};
  }

  static NeighbouringFrames frames(const ParameterValues& values) {
    const int count = static_cast<int>(values[0]);
    return {.before = (count - 1) / 2, .after = count / 2};
  }

  static std::vector<Part> parts(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const int count = static_cast<int>(values[0]);
    const Filter* sum = find_simple_filter("weighted_sum");
    std::vector<Part> parts;
    for (int frame = 1; frame < count; ++frame) {
      const bool last = frame + 1 == count;
      const double weight = last ? 1.0 / count : 1.0;
      const int so_far = frame == 1 ? -1 : frame - 2;
      parts.push_back({.filter = sum, .values = {weight, weight}, .inputs = {so_far, -1 - frame}});
    }
    return parts;
  }
};

}  // namespace millrace::image::filters
