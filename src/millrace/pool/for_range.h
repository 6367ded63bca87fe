// for_range: a loop over a range of integers, divided among the members of a team.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/pool/team.h"

#include <cstdint>

namespace millrace::pool {

// How the range is divided. OpenMP's schedules of the same names.
enum class Partition {
  static_,  // one contiguous segment a member, lengths differing by at most one, in the order of ranks: the
            // leader's is the last. No coordination, and the same segment goes to the same member every time.
  dynamic,  // chunks of `grain` from the front, to whoever is free. For uneven work.
  guided,   // chunks of half an even share of what is left, or as `share` says, but at least `grain`: fewer
            // hand-overs than dynamic.
};

// Calls fn(b, e, rank) for sub-ranges [b, e) that together cover [begin, end) exactly once; rank is the
// member, so calls of one rank never overlap in time. Sub-ranges are never empty; a sub-range other than the
// last is at least `grain` long with dynamic and guided. Wakes no more members than ceil((end - begin) /
// grain), the last ranks; an empty range wakes nobody and is no error.
//
// grain >= 1: the fewest elements that are worth a member's waking; else a usage error, as is end - begin
// that does not fit 63 bits. An exception of fn ends that member's part; the others go on, then the Team's
// error is returned. What of the range was done is unknown then.
//
// share >= 1, else a usage error: with guided a chunk is an even share of what is left, divided by it. A
// member whose CPU is taken by others in the middle of a chunk holds up all: the finer, the less.
[[nodiscard]] MILLRACE_EXPORT Status
for_range(Team& team, std::int64_t begin, std::int64_t end, Partition partition, std::int64_t grain,
          FunctionRef<void(std::int64_t begin, std::int64_t end, int rank)> fn, int share = 2);

}  // namespace millrace::pool
