// Where workers and the I/O thread run: the arrangements of "execution structures", section VII.
//
// Pure: from a Topology, the usable CPUs and a worker count to a mask for each thread. Binding the threads is
// the pool's affair.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/topology/topology.h"

#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace::machine {

enum class AffinityArrangement {
  free,         // every thread anywhere: the kernel places them
  pinned,       // each worker on a PU of its own; the I/O thread anywhere
  io_same,      // each worker on a PU of its own, one of them on the I/O thread's
  io_diff,      // each worker on a PU of its own, on other cores than the I/O thread
  module_diff,  // each worker on a PU of its own, in other FPU groups than the I/O thread (Bulldozer's
                // modules); where an FPU group is a single core, the same as io_diff
};

inline constexpr std::array all_affinity_arrangements{
    AffinityArrangement::free, AffinityArrangement::pinned, AffinityArrangement::io_same,
    AffinityArrangement::io_diff, AffinityArrangement::module_diff};

// "free", "pinned", "io-same", "io-diff", "module-diff".
[[nodiscard]] std::string_view name_of(AffinityArrangement arrangement);

// The inverse of name_of. Usage error that lists the names.
[[nodiscard]] Result<AffinityArrangement> parse_affinity_arrangement(std::string_view name);

// Whether the I/O thread has a PU of its own, or one that it shares with a worker.
[[nodiscard]] constexpr bool binds_io(AffinityArrangement arrangement) {
  return arrangement != AffinityArrangement::free && arrangement != AffinityArrangement::pinned;
}

// An arrangement, and for how many workers there are PUs.
struct ArrangementLimit {
  AffinityArrangement arrangement = AffinityArrangement::free;
  int most_workers = std::numeric_limits<int>::max();
};

// For how many workers `usable` has PUs if the I/O thread's PU is not given; no limit for `free`, 0 if the
// arrangement is impossible.
[[nodiscard]] int most_workers(const Topology& topology, const CpuSet& usable,
                               AffinityArrangement arrangement);

// Those that bind workers and are possible for at least one, in the order of their declaration; module_diff
// only where it differs from io_diff. None where no usable CPU belongs to the topology.
[[nodiscard]] std::vector<ArrangementLimit> binding_arrangements(const Topology& topology,
                                                                 const CpuSet& usable);

struct ArrangementRequest {
  AffinityArrangement arrangement = AffinityArrangement::free;
  int workers = 1;
  // The I/O thread's PU, for the arrangements that bind it; none: the lowest usable PU of the fastest kind.
  std::optional<int> io_cpu = std::nullopt;
};

// A mask for every thread; all within the usable CPUs, none empty.
struct AffinityPlan {
  // One mask a worker. With io_same the last worker has the I/O thread's PU, as in the paper, where the
  // thread that did the I/O computes the last segment of the frame.
  std::vector<CpuSet> workers;
  CpuSet io;
};

// PUs are handed out in an order that puts one worker on every core before a second on any, with pinned and
// module_diff also one in every FPU group before a second in any; then those of faster cores first (hybrid
// processors), then those nearest to the I/O thread.
//
// Usage error when `workers` < 1, when `io_cpu` is not usable, when no usable CPU belongs to the topology,
// and when there are too few PUs or modules; it names what is missing and what to use instead.
[[nodiscard]] Result<AffinityPlan> arrange(const Topology& topology, const CpuSet& usable,
                                           const ArrangementRequest& request);

}  // namespace millrace::machine
