#pragma once

#include "millrace/image/filters/extreme_along.h"

namespace millrace::image::filters {

struct ColumnExtreme : ExtremeAlong<Axis::columns> {
  static Filter about() { return named("column_extreme", "the least or greatest along columns"); }
};

}  // namespace millrace::image::filters
