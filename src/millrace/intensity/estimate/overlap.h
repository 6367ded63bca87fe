// Estimates how much data two threads share, from sampled addresses of both.
#pragma once

#include <cstdint>
#include <span>

namespace millrace::intensity {

// Returns 0 (nothing shared) to 1 (the same data, used equally often) for two threads of one process. It
// sums, over blocks of 2 MiB, the smaller of the two threads' shares of samples. Two samples of the same data
// never agree completely; the halves of each thread's own samples measure that, and the result is corrected
// for it. It does not tell which thread writes. Returns 0 if a thread has fewer than 20 samples.
[[nodiscard]] double overlap(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

}  // namespace millrace::intensity
