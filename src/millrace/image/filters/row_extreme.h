#pragma once

#include "millrace/image/filters/extreme_along.h"

namespace millrace::image::filters {

struct RowExtreme : ExtremeAlong<Axis::rows> {
  static Filter about() { return named("row_extreme", "the least or greatest along rows"); }
};

}  // namespace millrace::image::filters
