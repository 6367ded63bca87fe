// Where in a layout code values become numbers in [0,1], and numbers codes.
#pragma once

#include "millrace/image/layout/frame_layout.h"

namespace millrace::image {

// The same layout with stages working on codes where they are fed with them and can: a stage that converts
// comes behind them instead of before, or not at all.
//
// What only chooses among pixels keeps every bit of the output. What computes (Filter::codes) does so where
// its result is stored: then that is the nearest code, halves upwards, where floats round on the way and come
// out one code lower or higher at such halves. `changing`: the stages are to be the same whatever the numbers
// of filters, and these stay on floats. A layout that begins or ends with floats stays as it
// is.
[[nodiscard]] PlaneLayout with_work_on_codes(PlaneLayout layout, bool changing = false);

}  // namespace millrace::image
