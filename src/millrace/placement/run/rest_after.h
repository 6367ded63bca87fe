// rest_after: how long to pause after a look, so that looking stays within its share of a CPU.
#pragma once

#include "millrace/base/error/clock.h"

#include <cstdint>
#include <ctime>

namespace millrace::placement {

// CPU time of the calling thread.
[[nodiscard]] inline std::int64_t thread_cpu_time_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return nanoseconds(time);
}

// Calls `look` and returns the nanoseconds to wait before the next look. Looking then takes at most 0.5 % of
// a CPU, however many threads there are.
template <class Look> [[nodiscard]] std::int64_t rest_after(const Look& look) {
  constexpr std::int64_t share = 200;
  const std::int64_t before = thread_cpu_time_ns();
  look();
  return share * (thread_cpu_time_ns() - before);
}

}  // namespace millrace::placement
