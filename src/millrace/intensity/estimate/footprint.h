// How much memory a thread goes through, by addresses sampled from it.
#pragma once

#include "millrace/machine/processor/demand.h"

#include <cstdint>
#include <span>

namespace millrace::intensity {

// What serves one thread, in bytes.
struct CacheSizes {
  double l1 = 32 << 10;
  double l2 = 1 << 20;
  double llc = 32 << 20;
};

// Bytes, by how often samples meet again: the first hundred of a thread that walks at random through a
// hundred distinct places meet some fifty times (Chao's estimate of the number of species). Counted in the
// finest blocks, from a cache line to a huge page, most of which were seen more than once: in finer ones too
// little is seen again to tell, coarser ones are not used in whole. The few pages that are used most, as many
// as fit in `hot_bytes`, are counted by themselves: else they would meet again so often that the rest seems
// small. 0 without samples.
[[nodiscard]] double footprint_bytes(std::span<const std::uint64_t> addresses, double hot_bytes);

// The level that holds so much: l1, l2, llc or dram.
[[nodiscard]] machine::SharedUnit level_of(double footprint_bytes, const CacheSizes& caches);

// The share of the samples that fall on the few pages which are used most, as many as fit in `bytes`. Which
// ones these are, one half of the samples tells, and the other how much they are used; so it is not too high
// where no page is used more than another.
[[nodiscard]] double share_of_hot_pages(std::span<const std::uint64_t> addresses, double bytes);

}  // namespace millrace::intensity
