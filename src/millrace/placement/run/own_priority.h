// The priority of millrace's own threads, next to the programs that they follow.
#pragma once

#include "millrace/base/error/result.h"

namespace millrace::placement {

inline constexpr int lowest_nice = -20;
inline constexpr int highest_nice = 19;

// Returns a usage error with advice if the calling thread may not have this nice value. Changes nothing.
[[nodiscard]] Status may_have_nice(int nice);

// Sets the nice value of the calling thread; threads that it makes later inherit it. Returns what the kernel
// granted.
[[nodiscard]] Result<int> set_own_nice(int nice);

}  // namespace millrace::placement
