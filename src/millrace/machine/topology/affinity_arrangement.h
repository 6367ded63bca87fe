// Where workers and the I/O thread run: the arrangements of "execution structures", section VII.
//
// Pure: maps a Topology, the usable CPUs and a worker count to a mask for each thread. The pool pins the
// threads.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/topology/topology.h"

#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace::machine {

enum class AffinityArrangement {
  free,         // no pinning: the kernel places all threads
  pinned,       // each worker pinned to its own PU; the I/O thread anywhere
  io_same,      // each worker pinned to its own PU, one of them the I/O thread's
  io_diff,      // each worker pinned to its own PU, on other cores than the I/O thread
  module_diff,  // each worker pinned to its own PU, in other FPU groups (Bulldozer's modules) than the I/O
                // thread; the same as io_diff if an FPU group is a single core
};

inline constexpr std::array all_affinity_arrangements{
    AffinityArrangement::free, AffinityArrangement::pinned, AffinityArrangement::io_same,
    AffinityArrangement::io_diff, AffinityArrangement::module_diff};

// "free", "pinned", "io-same", "io-diff", "module-diff".
[[nodiscard]] std::string_view name_of(AffinityArrangement arrangement);

// The inverse of name_of. Usage error that lists the names.
[[nodiscard]] Result<AffinityArrangement> parse_affinity_arrangement(std::string_view name);

// Whether the I/O thread is pinned, to its own PU or to one shared with a worker.
[[nodiscard]] constexpr bool binds_io(AffinityArrangement arrangement) {
  return arrangement != AffinityArrangement::free && arrangement != AffinityArrangement::pinned;
}

// An arrangement and the number of workers that it has PUs for.
struct ArrangementLimit {
  AffinityArrangement arrangement = AffinityArrangement::free;
  int most_workers = std::numeric_limits<int>::max();
};

// The number of workers that `usable` has PUs for if the I/O thread's PU is not given. No limit for `free`; 0
// if the arrangement is impossible.
[[nodiscard]] int most_workers(const Topology& topology, const CpuSet& usable,
                               AffinityArrangement arrangement);

// The arrangements that pin workers and are possible for at least one worker, in declaration order. Includes
// module_diff only if it differs from io_diff. Empty if no usable CPU belongs to the topology.
[[nodiscard]] std::vector<ArrangementLimit> binding_arrangements(const Topology& topology,
                                                                 const CpuSet& usable);

struct ArrangementRequest {
  AffinityArrangement arrangement = AffinityArrangement::free;
  int workers = 1;
  // The I/O thread's PU, for the arrangements that pin it. Default: the lowest usable PU of the fastest kind.
  std::optional<int> io_cpu = std::nullopt;
};

// A mask for every thread: never empty, always within the usable CPUs.
struct AffinityPlan {
  // One mask per worker. With io_same the last worker has the I/O thread's PU. In the paper, the thread that
  // did the I/O likewise computes the last segment of the frame.
  std::vector<CpuSet> workers;
  CpuSet io;
};

// Places one worker on every core before a second worker on any core. With pinned and module_diff, the same
// applies to FPU groups. Ties go to faster cores (hybrid processors), then to PUs nearest to the I/O thread.
//
// Usage error if `workers` < 1, `io_cpu` is not usable, no usable CPU belongs to the topology, or there are
// too few PUs or modules. The error names what is missing and an alternative.
[[nodiscard]] Result<AffinityPlan> arrange(const Topology& topology, const CpuSet& usable,
                                           const ArrangementRequest& request);

}  // namespace millrace::machine
