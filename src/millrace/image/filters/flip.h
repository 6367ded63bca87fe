#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

namespace millrace::image::filters {

struct Flip : SameSize {
  static Filter about() {
    return {.name = "flip",
            .summary = "mirror the picture",
            .geometric = true,
            .parameters = {{.name = "direction",
                            .summary = "left and right change places, or top and bottom, or both",
                            .type = ParameterType::choice,
                            .minimum = 0,
                            .maximum = 2,
                            .choices = {"horizontal", "vertical", "both"}}}};
  }

  static std::vector<Part> parts(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    std::vector<Part> parts;
    if (values[0] != 1) parts.push_back({.filter = find_simple_filter("mirror_columns"), .values = {}});
    if (values[0] != 0) {
      parts.push_back({.filter = find_simple_filter("mirror_rows"),
                       .values = {},
                       .inputs = {static_cast<int>(parts.size()) - 1}});
    }
    return parts;
  }
};

}  // namespace millrace::image::filters
