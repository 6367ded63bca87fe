// Where in a layout code values become numbers in [0,1], and numbers codes.
#pragma once

#include "millrace/image/layout/frame_layout.h"

namespace millrace::image {

// The same layout with what only chooses among pixels working on codes where it is fed with them: a stage
// that converts comes behind it instead of before it, or not at all. The output keeps its bits; which stages
// there are does not depend on their numbers. A layout that begins or ends with numbers stays as it is.
[[nodiscard]] PlaneLayout with_choices_on_codes(PlaneLayout layout);

}  // namespace millrace::image
