#pragma once

#include "millrace/image/filters/defaults.h"

namespace millrace::image::filters {

// Reflects a row past the edge to the row as far inside. In an interlaced frame it has the same field.
template <class A> typename A::Int mirrored_row(A& a, const typename A::Int& y) {
  using Int = typename A::Int;
  constexpr int more_than_any = 1 << 20;
  const auto magnitude = [](const Int& v) -> Int { return A::clamp_int(v, 0 - v, Int(more_than_any)); };
  const Int last = a.height() - 1;
  return a.replicate_y(last - magnitude(last - magnitude(y)));
}

}  // namespace millrace::image::filters
