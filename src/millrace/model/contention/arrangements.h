// Who is placed where: rules that one can compare by what contention.h says of their results.
//
// All take a checked machine and checked threads, and place no two threads on one PU as long as another PU is
// idle.
#pragma once

#include "millrace/model/contention/contention.h"
#include "millrace/model/pipeline/random.h"

#include <optional>
#include <span>

namespace millrace::model {

// By a kernel that knows nothing of what threads do and leaves them where they are: any placement is as
// likely.
[[nodiscard]] PuOfThread shuffled(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                  Random& random);

// Each thread bound to a PU in the order in which they come, whatever they do: one to a group of the
// narrowest level before a second to any. The order is chance. What binding alone brings, to compare with.
[[nodiscard]] PuOfThread pinned(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                Random& random);

// Threads that want the same as neighbours: the bad case that the WorkOver paper compares with.
[[nodiscard]] PuOfThread stacked(const SharedMachine& machine, std::span<const ContendingThread> threads);

// The rule of the WorkOver paper (section 5.3): of N groups that share floating-point units, the N threads
// which use these most are placed on the first PUs of distinct groups, the next N on second PUs; the others
// stay where the kernel puts them, as in shuffled(). Groups are those of the narrowest level on which
// floating-point work disturbs its like, or of the narrowest there is.
[[nodiscard]] PuOfThread by_workover(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                     Random& random);

// Ours: the greatest log_throughput that a search finds which begins with `start` and moves one thread,
// exchanges two, or all of two groups, as long as that gains anything. A start that is as good stays. Without
// one it begins twice, with one thread after the other, each where it costs least, and, where groups are of
// two PUs, with the cheapest way to put all threads, and idle PUs, into pairs; and takes the better end. No
// better placement is one such step away; of 8 threads or fewer it finds the best of all nearly always (tests
// say how nearly).
[[nodiscard]] PuOfThread arranged(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                  const std::optional<PuOfThread>& start = std::nullopt);

// The best of all placements with at most one thread on a PU, by trying those that differ: of groups that are
// alike and empty, the first will do. Nothing where there are more threads than PUs, or more than eight of
// them and more than two million placements.
[[nodiscard]] std::optional<PuOfThread> best_of_all(const SharedMachine& machine,
                                                    std::span<const ContendingThread> threads);

}  // namespace millrace::model
