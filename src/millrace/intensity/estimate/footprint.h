// Estimates how much memory a thread works through, from sampled addresses.
#pragma once

#include "millrace/machine/processor/demand.h"

#include <cstdint>
#include <span>

namespace millrace::intensity {

// The caches that serve one thread, in bytes.
struct CacheSizes {
  double l1 = 32 << 10;
  double l2 = 1 << 20;
  double llc = 32 << 20;
};

// Estimates the footprint in bytes from how often samples hit the same block (Chao's estimator of the number
// of species). For example, the first hundred samples of a random walk over a hundred places collide about
// fifty times. It uses the finest blocks, from a cache line to a huge page, most of which were seen more than
// once. In finer blocks too few repeat to tell; coarser ones are not used completely. The most used pages, as
// many as fit in `hot_bytes`, are counted separately: their many repeats would make the rest look small.
// Returns 0 without samples.
[[nodiscard]] double footprint_bytes(std::span<const std::uint64_t> addresses, double hot_bytes);

// The level that can hold this footprint: l1, l2, llc or dram.
[[nodiscard]] machine::SharedUnit level_of(double footprint_bytes, const CacheSizes& caches);

// The share of samples on the most used pages, as many as fit in `bytes`. One half of the samples chooses the
// pages and the other half measures their use, so the share is not biased upwards if all pages are used
// equally.
[[nodiscard]] double share_of_hot_pages(std::span<const std::uint64_t> addresses, double bytes);

}  // namespace millrace::intensity
