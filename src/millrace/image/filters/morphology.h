#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

namespace millrace::image::filters {

// Minimum (erode) or maximum (dilate) of a square. `open` erodes, then dilates; `close` dilates, then erodes.
struct Morphology : SameSize {
  static Filter about() {
    return {.name = "morphology",
            .summary =
                "grow what is dark (erode) or bright (dilate); take away what is small and bright (open) "
                "or dark (close)",
            .chroma = ChromaDefault::passes,
            .parameters = {{.name = "operation",
                            .summary = "what is done",
                            .type = ParameterType::choice,
                            .minimum = 0,
                            .maximum = 3,
                            .choices = {"erode", "dilate", "open", "close"}},
                           {.name = "radius",
                            .summary = "how far the square reaches to each side",
                            .unit = "pixels",
                            .type = ParameterType::integer,
                            .minimum = 1,
                            .maximum = 50,
                            .required = false,
                            .fallback = 1}}};
  }

  static std::vector<Part> parts(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const bool starts_with_least = values[0] == 0 || values[0] == 2;
    const bool twice = values[0] >= 2;
    std::vector<Part> parts;
    const auto add = [&](double sign) {
      const int before = static_cast<int>(parts.size()) - 1;
      parts.push_back(
          {.filter = find_simple_filter("row_extreme"), .values = {sign, values[1]}, .inputs = {before}});
      parts.push_back({.filter = find_simple_filter("column_extreme"),
                       .values = {sign, values[1]},
                       .inputs = {before + 1}});
    };
    const double sign = starts_with_least ? 1 : -1;
    add(sign);
    if (twice) add(-sign);
    return parts;
  }
};

}  // namespace millrace::image::filters
