// Expected gain and loss of a trial, for a normally distributed log ratio.
#pragma once

namespace millrace::tuning {

// E[max(0, -margin - d)] for d ~ N(mean, deviation): the expected gain in log cost beyond the margin (Mockus
// 1978).
[[nodiscard]] double expected_improvement(double mean, double deviation, double margin);

// E[max(0, exp(d) - 1)] for d ~ N(mean, deviation): the expected loss of running something exp(d) times as
// slow, as a share of a frame's time.
[[nodiscard]] double expected_excess(double mean, double deviation);

}  // namespace millrace::tuning
