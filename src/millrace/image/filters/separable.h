// Separable windows: the product of one for rows and one for columns.
#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <utility>
#include <vector>

namespace millrace::image::filters {

// The two parts of such a window. Each list of weights starts at the centre.
inline std::vector<Part> separable(ParameterValues row, ParameterValues column) {
  return {{.filter = find_simple_filter("row_sum"), .values = std::move(row)},
          {.filter = find_simple_filter("column_sum"), .values = std::move(column), .inputs = {0}}};
}

}  // namespace millrace::image::filters
