#pragma once

#include "millrace/image/filters/sum_along.h"

namespace millrace::image::filters {

struct RowSum : SumAlong<Axis::rows> {
  static Filter about() { return named("row_sum", "a window along rows"); }
};

}  // namespace millrace::image::filters
