// Decides where a layout converts code values to [0,1] and back.
#pragma once

#include "millrace/image/layout/frame_layout.h"

namespace millrace::image {

// Returns the same layout with stages working on codes if they can and if their inputs are codes. Conversions
// then come after such stages or not at all.
//
// Stages that only select pixels keep the output bit-identical. A stage that computes (Filter::codes) works
// on codes only if its result is stored. The result is then the nearest code, halves up. Floats round in
// between and can be one code off at such halves. `changing`: the choice must not depend on parameter values,
// so stages that compute stay on floats. A layout that begins or ends with floats is returned unchanged.
[[nodiscard]] PlaneLayout with_work_on_codes(PlaneLayout layout, bool changing = false);

}  // namespace millrace::image
