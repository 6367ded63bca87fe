#pragma once

#include "millrace/image/filters/middle_of.h"

namespace millrace::image::filters {

struct MiddleOf5 : MiddleOf<5> {
  static Filter about() { return {.name = "middle_of_5", .summary = "the median of 5 inputs", .inputs = 5}; }
};

}  // namespace millrace::image::filters
