#include "millrace/pool/for_range.h"

#include "millrace/pool/contiguous_part.h"
#include "millrace/pool/mailbox.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace millrace::pool {
namespace {

// The start of the unclaimed elements, as an offset from the range's begin.
//
// relaxed throughout: the atomic read-modify-write alone gives every offset to only one member. The fork and
// the join publish the data.
struct alignas(cache_line_pair) Front {
  std::atomic<std::uint64_t> offset = 0;
};

// Claims the next `chunk` elements of [0, length). An offset past the end means that no elements are left.
// Each member oversteps at most once, by at most the length of the range, so an unsigned 64-bit number cannot
// overflow for any realistic team.
Part take_chunk(Front& front, std::uint64_t length, std::uint64_t chunk) {
  const std::uint64_t taken = front.offset.fetch_add(chunk, std::memory_order_relaxed);
  const std::uint64_t begin = std::min(taken, length);
  return {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(std::min(begin + chunk, length))};
}

// Claims the remainder divided by `parts`, but at least `grain` elements.
Part take_share(Front& front, std::uint64_t length, std::uint64_t grain, std::uint64_t parts) {
  std::uint64_t begin = front.offset.load(std::memory_order_relaxed);
  while (begin < length) {
    const std::uint64_t left = length - begin;
    const std::uint64_t chunk = std::min(std::max(left / parts, grain), left);
    if (front.offset.compare_exchange_weak(begin, begin + chunk, std::memory_order_relaxed,
                                           std::memory_order_relaxed))
      return {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(begin + chunk)};
  }
  return {};
}

}  // namespace

Status for_range(Team& team, std::int64_t begin, std::int64_t end, Partition partition, std::int64_t grain,
                 FunctionRef<void(std::int64_t begin, std::int64_t end, int rank)> fn, int share) {
  if (share < 1) return usage_error("an even share cannot be divided by {}; give at least 1", share);
  if (grain < 1) return usage_error("a loop cannot be divided by a grain of {}; give at least 1", grain);
  if (end <= begin) return {};
  if (begin < 0 && end > std::numeric_limits<std::int64_t>::max() + begin)
    return usage_error("the range [{}, {}) is longer than 63 bits count; divide it", begin, end);
  const std::int64_t length = end - begin;
  const std::int64_t chunk = std::min(grain, length);
  const std::int64_t worthwhile = length / chunk + (length % chunk != 0 ? 1 : 0);
  const int active = static_cast<int>(std::min<std::int64_t>(team.size(), worthwhile));
  const int first_rank = team.size() - active;

  if (partition == Partition::static_)
    return team.run_last(active, [&](int rank) {
      const Part part = contiguous_part(length, active, rank - first_rank);
      fn(begin + part.begin, begin + part.end, rank);
    });

  Front front;
  const auto total = static_cast<std::uint64_t>(length);
  const auto least = static_cast<std::uint64_t>(chunk);
  const std::uint64_t parts = static_cast<std::uint64_t>(active) * static_cast<std::uint64_t>(share);
  const auto take = [&]() {
    return partition == Partition::dynamic ? take_chunk(front, total, least)
                                           : take_share(front, total, least, parts);
  };
  return team.run_last(active, [&](int rank) {
    for (Part part = take(); part.begin < part.end; part = take())
      fn(begin + part.begin, begin + part.end, rank);
  });
}

}  // namespace millrace::pool
