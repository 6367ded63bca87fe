// Placement rules, which can be compared through contention.h.
//
// All take a checked machine and checked threads. They place two threads on one PU only if no PU is idle.
#pragma once

#include "millrace/model/contention/contention.h"
#include "millrace/model/pipeline/random.h"

#include <optional>
#include <span>

namespace millrace::model {

// A kernel that ignores the demands of threads and never migrates them: every placement is equally likely.
[[nodiscard]] PuOfThread shuffled(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                  Random& random);

// Pins each thread to a PU in order of arrival, regardless of demand: one thread per group of the narrowest
// level before any group gets a second. The order of arrival is random. The control for the effect of pinning
// alone.
[[nodiscard]] PuOfThread pinned(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                Random& random);

// Threads with the same demand as neighbours: the bad case in the comparisons of the WorkOver paper.
[[nodiscard]] PuOfThread stacked(const SharedMachine& machine, std::span<const ContendingThread> threads);

// The rule of the WorkOver paper (section 5.3). With N groups that share floating-point units, the N threads
// that use these units most go to the first PUs of distinct groups, the next N to the second PUs. The others
// stay where the kernel put them, as in shuffled(). The groups are those of the narrowest level on which
// floating-point work slows floating-point work, or of the narrowest level if there is none.
[[nodiscard]] PuOfThread by_workover(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                     Random& random);

// Our rule: a local search for the greatest log_throughput. A step moves one thread, exchanges two, or
// exchanges all threads of two groups. The search begins with `start`, which is kept unless another placement
// is better.
//
// Without a start, it searches twice and takes the better result. The first search begins with a greedy
// placement, each thread in turn where it costs least. If groups have two PUs, the second begins with the
// cheapest pairing of all threads and idle PUs. No single step improves the result. For up to 8 threads it is
// almost always the best of all; the tests measure how often.
[[nodiscard]] PuOfThread arranged(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                  const std::optional<PuOfThread>& start = std::nullopt);

// The best of all placements with at most one thread per PU, by exhaustive search. Among groups that are
// alike and empty, only the first is tried. Empty if there are more threads than PUs, or more than eight
// threads and more than two million placements.
[[nodiscard]] std::optional<PuOfThread> best_of_all(const SharedMachine& machine,
                                                    std::span<const ContendingThread> threads);

}  // namespace millrace::model
