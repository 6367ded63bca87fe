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

// Threads that want the same as neighbours: the bad case that the WorkOver paper compares with.
[[nodiscard]] PuOfThread stacked(const SharedMachine& machine, std::span<const ContendingThread> threads);

// The rule of the WorkOver paper (section 5.3): of N groups that share floating-point units, the N threads
// which use these most are placed on the first PUs of distinct groups, the next N on second PUs; the others
// stay where the kernel puts them, as in shuffled(). Groups are those of the narrowest level on which
// floating-point work disturbs its like, or of the narrowest there is.
[[nodiscard]] PuOfThread by_workover(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                     Random& random);

// Ours: the greatest log_throughput that a search finds which begins with `start` (or one thread after the
// other, each where it costs least) and moves one thread, or exchanges two, as long as that gains anything. A
// start that is as good stays. No better placement is one such step away; of 8 threads or fewer it finds the
// best of all nearly always (tests say how nearly).
[[nodiscard]] PuOfThread arranged(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                  const std::optional<PuOfThread>& start = std::nullopt);

// The best of all placements with at most one thread on a PU, by trying them. Nothing where there are more
// threads than PUs, or more than 50 million placements.
[[nodiscard]] std::optional<PuOfThread> best_of_all(const SharedMachine& machine,
                                                    std::span<const ContendingThread> threads);

}  // namespace millrace::model
