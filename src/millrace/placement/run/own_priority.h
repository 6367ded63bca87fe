// The priority of millrace's own threads beside the programs that they follow.
#pragma once

#include "millrace/base/result.h"

namespace millrace::placement {

inline constexpr int lowest_nice = -20;
inline constexpr int highest_nice = 19;

// Usage error that names the way out where the calling thread may not have this nice value. Changes nothing.
[[nodiscard]] Status may_have_nice(int nice);

// Gives it to the calling thread, from which threads made later inherit it. What the kernel granted.
[[nodiscard]] Result<int> set_own_nice(int nice);

}  // namespace millrace::placement
