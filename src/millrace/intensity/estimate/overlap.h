// How much of the data of two threads is the same, by addresses sampled from both.
#pragma once

#include <cstdint>
#include <span>

namespace millrace::intensity {

// 0 (nothing in common) to 1 (the same data, equally often), of two threads of one process: by blocks of 2
// MiB, the sum over the blocks of the lesser of the two threads' shares of samples. Two samples of the same
// are never alike; how unlike they are is seen from the halves of each thread's own samples, and made up for.
// Nothing is said of which of them writes. 0 where a thread has fewer than 20 samples.
[[nodiscard]] double overlap(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

}  // namespace millrace::intensity
