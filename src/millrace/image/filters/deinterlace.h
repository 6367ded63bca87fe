#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

namespace millrace::image::filters {

// Makes a full frame from one field: keeps its rows and reconstructs the others.
struct Deinterlace : SameSize {
  static Filter about() {
    return {
        .name = "deinterlace",
        .summary = "keep the rows of one field, and make those between anew",
        .makes_progressive = true,
        .parameters = {
            {.name = "mode",
             .summary = "bob: means of the rows around; motion: also from the frames before and after",
             .type = ParameterType::choice,
             .minimum = 0,
             .maximum = 1,
             .required = false,
             .fallback = 1,
             .choices = {"bob", "motion"}},
            {.name = "first",
             .summary =
                 "the field that comes first, which is the one that stays; auto: as the video says, else top",
             .type = ParameterType::choice,
             .minimum = 0,
             .maximum = 2,
             .required = false,
             .choices = {"auto", "top", "bottom"}}}};
  }

  static NeighbouringFrames frames(const ParameterValues& values) {
    return values[0] == 0 ? NeighbouringFrames{} : NeighbouringFrames{.before = 1, .after = 1};
  }

  static std::vector<Part> parts(const PlaneGeometry& input, const ParameterValues& values) {
    const double first_row = values[1] == 0 ? (input.bottom_first ? 1 : 0) : values[1] - 1;
    if (values[0] == 0) return {{.filter = find_simple_filter("field_rows"), .values = {first_row}}};
    return {{.filter = find_simple_filter("moving_rows"), .values = {first_row}, .inputs = {-1, -2, -3}}};
  }
};

}  // namespace millrace::image::filters
