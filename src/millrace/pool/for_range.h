// for_range: a parallel loop over a range of integers, divided among the members of a team.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/pool/team.h"

#include <cstdint>

namespace millrace::pool {

// How the range is divided; the names are those of OpenMP's schedules.
enum class Partition {
  static_,  // One contiguous segment per member in rank order, so the leader gets the last. Lengths differ by
            // at most one. No coordination; each member gets the same segment every time.
  dynamic,  // Chunks of `grain` elements from the front, taken by any free member. For uneven work.
  guided,   // Chunks of half an even share of the remainder (see `share`), but at least `grain`. Needs fewer
            // hand-overs than dynamic.
};

// Calls fn(b, e, rank) for non-empty sub-ranges [b, e) that together cover [begin, end) exactly once. `rank`
// is the member, so calls with one rank never overlap in time. With dynamic and guided, all sub-ranges except
// the last have at least `grain` elements. Wakes at most ceil((end - begin) / grain) members, those with the
// last ranks. An empty range wakes no member and is not an error.
//
// grain: the smallest number of elements that is worth waking a member for. Usage error if it is below 1, or
// if end - begin does not fit in 63 bits. If fn throws, that member stops and the others continue; then the
// Team's error is returned. It is then unknown which elements were processed.
//
// share: for guided, a chunk is an even share of the remainder divided by this number. Usage error if it is
// below 1. A member that loses its CPU in the middle of a chunk delays all others; a larger share makes
// chunks smaller and the delay shorter.
[[nodiscard]] MILLRACE_EXPORT Status
for_range(Team& team, std::int64_t begin, std::int64_t end, Partition partition, std::int64_t grain,
          FunctionRef<void(std::int64_t begin, std::int64_t end, int rank)> fn, int share = 2);

}  // namespace millrace::pool
