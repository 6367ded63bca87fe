#pragma once

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/filters/swap_axes.h"

#include <vector>

namespace millrace::image::filters {

// Quarter turns without interpolation, and transposition. Width and height are swapped.
struct Transpose {
  static Filter about() {
    return {.name = "transpose",
            .summary = "turn by a quarter, or make columns rows; width and height change places",
            .geometric = true,
            .parameters = {{.name = "turn",
                            .summary = "the turn; diagonal: mirrored at the line from the upper left",
                            .type = ParameterType::choice,
                            .minimum = 0,
                            .maximum = 2,
                            .required = false,
                            .choices = {"clockwise", "counterclockwise", "diagonal"}}}};
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    return SwapAxes::output(input, values);
  }

  static std::vector<Part> parts(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const double last_column = values[0] == 1 ? 1 : 0;
    const double last_row = values[0] == 0 ? 1 : 0;
    return {{.filter = find_simple_filter("swap_axes"), .values = {last_column, last_row}}};
  }
};

}  // namespace millrace::image::filters
