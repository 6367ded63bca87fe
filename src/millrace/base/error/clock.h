// The project's clock: nanoseconds of the monotonic clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace millrace {

// Nanoseconds since an arbitrary start. Never goes back. A call takes about 25 ns.
[[nodiscard]] inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[nodiscard]] constexpr double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

// Rounds towards zero.
[[nodiscard]] constexpr std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

// Converts a time returned by the system.
[[nodiscard]] constexpr std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace millrace
