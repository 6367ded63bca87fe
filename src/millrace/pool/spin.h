// Bounded spinning: polling for an event that is expected within microseconds.
#pragma once

#include "millrace/base/error/clock.h"

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace millrace::pool {

// Tells the core that the thread only polls, so that a sibling hardware thread gets the execution units.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#elif defined(__powerpc64__)
  asm volatile("or 27,27,27" ::: "memory");
#endif
}

// Polls `done` until it is true, for about `nanoseconds` at most. Returns whether it became true. With 0 it
// polls once.
template <class Predicate> [[nodiscard]] bool spin_until(Predicate&& done, std::int64_t nanoseconds) {
  if (done()) return true;
  if (nanoseconds <= 0) return false;
  // Reading the clock costs as much as a hand-over between cores, so it is read only between bursts of polls.
  // A burst takes about a microsecond. An event during the first burst never pays for the clock.
  constexpr int polls_per_burst = 32;
  for (std::int64_t deadline = 0;;) {
    for (int poll = 0; poll < polls_per_burst; ++poll) {
      cpu_relax();
      if (done()) return true;
    }
    const std::int64_t now = now_ns();
    if (deadline == 0)
      deadline = now + nanoseconds;
    else if (now >= deadline)
      return false;
  }
}

}  // namespace millrace::pool
