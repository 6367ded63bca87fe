// What a trial promises and what it may lose, for a normally distributed log ratio.
#pragma once

namespace millrace::tuning {

// E[max(0, -margin - d)] for d ~ N(mean, deviation): expected gain in log cost beyond the margin (Mockus
// 1978).
[[nodiscard]] double expected_improvement(double mean, double deviation, double margin);

// E[max(0, exp(d) - 1)] for d ~ N(mean, deviation): the share of a frame's time that is lost on average by
// running something exp(d) times as slow.
[[nodiscard]] double expected_excess(double mean, double deviation);

}  // namespace millrace::tuning
