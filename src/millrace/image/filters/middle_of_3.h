#pragma once

#include "millrace/image/filters/middle_of.h"

namespace millrace::image::filters {

struct MiddleOf3 : MiddleOf<3> {
  static Filter about() { return {.name = "middle_of_3", .summary = "the median of 3 inputs", .inputs = 3}; }
};

}  // namespace millrace::image::filters
