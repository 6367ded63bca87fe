#pragma once

#include "millrace/image/filters/sum_along.h"

namespace millrace::image::filters {

struct ColumnSum : SumAlong<Axis::columns> {
  static Filter about() { return named("column_sum", "a window along columns"); }
};

}  // namespace millrace::image::filters
