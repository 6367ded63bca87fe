// Shared by blend modes: the result of a mode, clamped to [0,1], is mixed over the first input with an
// opacity. Coefficient 0 is the opacity.
#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

inline Parameter opacity_parameter() {
  return {.name = "opacity",
          .summary = "0: the first input as it is, 1: the result alone",
          .minimum = 0,
          .maximum = 1,
          .required = false,
          .fallback = 1};
}

template <class A>
typename A::Float with_opacity(A& a, const typename A::Float& first, const typename A::Float& result) {
  return first + a.coefficient(0) * (A::clamp(result, 0.0F, 1.0F) - first);
}

}  // namespace millrace::image::filters
