// Plans used by tests.
#pragma once

#include "millrace/placement/policy/plan.h"

namespace millrace::placement {

inline const Plan batch{.scheduling_class = machine::SchedulingClass::batch};
inline const Plan long_slice{.slice_ns = 20'000'000};
inline const Plan one_to_one{.masks = MaskPolicy::one_to_one};

}  // namespace millrace::placement
